#include "core/rewrite/as_text.h"

#include <algorithm>

#include "core/infer/reductions.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"
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
    Kernel plain = in_sequence(without_reference(text));
    erase_if(plain.iname_tags, [](const auto& t) { return t.second.kind == TagKind::Par; });
    check_kept_order(k, plain);
    return true;
  } catch (const Refused&) { return false; } catch (const IslQuota&) {
    return false;
  }
}

/// The same with the inames of teams inside of all loops, if they may be there.
Kernel teams_inside(Kernel k) {
  std::vector<std::string> order = k.loop_order;
  std::stable_partition(order.begin(), order.end(),
                        [&](const std::string& i) { return !in_team(k.tag(i)); });
  k.loop_order = std::move(order);
  return k;
}

/// By statement, in which copy of an iname of a team it runs; -1: in none.
using CopyOf = std::vector<int>;

/// Statements are together that have the same other inames.
CopyOf copies_of(const Kernel& k, const std::string& iname) {
  std::vector<std::set<std::string>> known;
  CopyOf out;
  for (const InsnPtr& insn : k.instructions) {
    std::set<std::string> all = all_inames(k, *insn);
    if (!all.erase(iname)) {
      out.push_back(-1);
      continue;
    }
    const auto at = std::find(known.begin(), known.end(), all);
    out.push_back(int(at - known.begin()));
    if (at == known.end()) known.push_back(std::move(all));
  }
  return out;
}

/// Two groups that use a temporary of which each value of `iname` has its own become one: what one
/// of them hands on, the other needs in the same copy. False where that is the bound of a loop,
/// which then would be around the members of a team that have different ones.
bool join_where_handed_on(const Kernel& k, const std::string& iname, CopyOf& groups) {
  const OwnCopies own(k);
  const Variables variables(k);
  std::set<std::string> bounds;
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params()) bounds.insert(p);
  std::map<std::string, std::size_t> used;  // by temporary: a statement
  for (std::size_t n = 0; n < groups.size(); ++n) {
    if (groups[n] < 0) continue;
    const Instruction& insn = *k.instructions[n];
    std::set<std::string> names = writes(insn);
    for_each_name_read(k, variables, insn, [&](const std::string& name) { names.insert(name); });
    for (const std::string& name : names) {
      if (!k.find_temporary(name) || !own.has(name, iname)) continue;
      const int here = groups[n], there = groups[used.emplace(name, n).first->second];
      if (here != there && bounds.contains(name)) return false;
      std::replace(groups.begin(), groups.end(), std::max(here, there), std::min(here, there));
    }
  }
  return true;
}

/// Gives the statements of each group but the first one a copy of each iname of a team; nothing
/// where its values hand a bound on from one group to another.
std::optional<Kernel> with_copies(Kernel k) {
  std::vector<std::string> teams;
  for (const auto& [iname, tag] : k.iname_tags)
    if (in_team(&tag)) teams.push_back(iname);
  for (const std::string& iname : teams) {
    CopyOf groups = copies_of(k, iname);
    if (!join_where_handed_on(k, iname, groups)) return std::nullopt;
    const InameTag tag = *k.tag(iname);
    const int last = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end());
    for (int g = 1; g <= last; ++g) {
      std::vector<bool> picked;
      for (const int n : groups) picked.push_back(n == g);
      if (std::find(picked.begin(), picked.end(), true) == picked.end()) continue;
      const std::string copy = k.fresh_name(iname + "_0");
      k = rewrite_inames(k, renamed_inames({{iname, copy}}), picked);
      k.iname_tags[copy] = tag;
    }
  }
  return k;
}

}  // namespace

std::optional<Kernel> text_with_copies(const Kernel& k) {
  if (!k.reference) return std::nullopt;
  if (std::none_of(k.iname_tags.begin(), k.iname_tags.end(),
                   [](const auto& t) { return in_team(&t.second); }))
    return std::nullopt;
  try {
    const IslBudget budget(kProofOperations);
    nest(in_sequence(without_reference(k)));
  } catch (const Refused&) {
    return std::nullopt;  // only a team can nest them, and so it does in text
  } catch (const IslQuota&) { return std::nullopt; }
  if (keeps_order(k, k)) return std::nullopt;
  const Kernel inside = teams_inside(k);
  if (keeps_order(k, inside)) return inside;
  for (const Kernel* start : {&k, &inside})
    if (std::optional<Kernel> out = with_copies(*start); out && keeps_order(k, *out)) return out;
  return std::nullopt;
}

Kernel as_text(const Kernel& k) { return text_with_copies(k).value_or(k); }

}  // namespace moonloop
