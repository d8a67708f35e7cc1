#include "core/rewrite/as_text.h"

#include <algorithm>

#include "core/infer/reductions.h"
#include "core/order/address_spaces.h"
#include "core/order/reference.h"
#include "core/order/tree.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// The kernel of the text: its list is its meaning.
Kernel without_reference(Kernel k) {
  k.reference = nullptr;
  return k;
}

/// Whether the text of `text` runs everything in the order of `k`, as far as that is proved.
bool keeps_order(const Kernel& k, const Kernel& text) {
  try {
    const IslBudget budget(kProofOperations, "finding the text of kernel `" + k.name + "`", k.at);
    check_kept_order(k, in_sequence(without_reference(text)));
    return true;
  } catch (const Refused&) { return false; } catch (const IslQuota&) {
    return false;
  }
}

/// Inames of teams that are outside of loops in the text although the preferred order of loops says
/// otherwise: statements that share them have different loops. To each, those loops.
std::map<std::string, std::set<std::string>> moved_outside(const Kernel& k) {
  std::map<std::string, std::set<std::string>> out;
  const std::vector<SharedNames> loops =
      derive_loops(in_sequence(realize_reductions(without_reference(k))));
  std::map<std::string, std::size_t> rank;
  const std::vector<std::string>& preferred = k.loop_order;
  for (std::size_t i = 0; i < preferred.size(); ++i) rank.emplace(preferred[i], i);
  for (const SharedNames& around : loops) {
    const std::vector<std::string>& names = around;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (in_team(k.tag(names[i])))
        for (std::size_t j = i + 1; j < names.size(); ++j)
          if (!in_team(k.tag(names[j])) && rank[names[j]] < rank[names[i]])
            out[names[i]].insert(names[j]);
  }
  return out;
}

/// Whether a temporary of which each value of `iname` has its own is used in two groups.
bool is_handed_on(const Kernel& k, const std::string& iname, const std::vector<int>& group) {
  const OwnCopies own(k);
  std::map<std::string, int> used;
  for (std::size_t n = 0; n < group.size(); ++n) {
    if (group[n] < 0) continue;
    std::set<std::string> names = reads(k, *k.instructions[n]);
    names.merge(writes(*k.instructions[n]));
    for (const std::string& name : names)
      if (k.find_temporary(name) && own.has(name, iname) &&
          used.emplace(name, group[n]).first->second != group[n])
        return true;
  }
  return false;
}

/// Gives the statements in each of `loops` but the first ones a copy of `iname`; nothing where the
/// values of `iname` hand something on from some to others.
std::optional<Kernel> with_copies(Kernel k, const std::string& iname,
                                  const std::set<std::string>& loops) {
  std::vector<std::set<std::string>> known;  // the loops of groups of statements
  std::vector<int> group;
  for (const InsnPtr& insn : k.instructions) {
    group.push_back(-1);
    const std::set<std::string> all = all_inames(k, *insn);
    if (!all.contains(iname)) continue;
    std::set<std::string> mine;
    std::set_intersection(all.begin(), all.end(), loops.begin(), loops.end(),
                          std::inserter(mine, mine.end()));
    const auto at = std::find(known.begin(), known.end(), mine);
    group.back() = int(at - known.begin());
    if (at == known.end()) known.push_back(std::move(mine));
  }
  if (is_handed_on(k, iname, group)) return std::nullopt;
  const InameTag tag = *k.tag(iname);
  for (int g = 1; g < int(known.size()); ++g) {
    std::vector<bool> picked;
    for (const int n : group) picked.push_back(n == g);
    const std::string copy = k.fresh_name(iname + "_0");
    k = rewrite_inames(k, renamed_inames({{iname, copy}}), picked);
    k.iname_tags[copy] = tag;
  }
  return k;
}

}  // namespace

std::optional<Kernel> text_with_copies(const Kernel& k) {
  if (!k.reference) return std::nullopt;
  if (std::none_of(k.iname_tags.begin(), k.iname_tags.end(),
                   [](const auto& t) { return in_team(&t.second); }))
    return std::nullopt;
  std::map<std::string, std::set<std::string>> moved;
  try {
    const IslBudget budget(kProofOperations);
    moved = moved_outside(k);
    if (moved.empty()) return std::nullopt;
    nest(in_sequence(without_reference(k)));
  } catch (const Refused&) {
    return std::nullopt;  // only a team can nest them, and so it does in text
  } catch (const IslQuota&) { return std::nullopt; }
  if (keeps_order(k, k)) return std::nullopt;
  Kernel out = k;
  for (const auto& [iname, loops] : moved) {
    std::optional<Kernel> copies = with_copies(std::move(out), iname, loops);
    if (!copies) return std::nullopt;
    out = std::move(*copies);
  }
  if (!keeps_order(k, out)) return std::nullopt;
  return out;
}

Kernel as_text(const Kernel& k) { return text_with_copies(k).value_or(k); }

}  // namespace moonloop
