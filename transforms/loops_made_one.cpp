#include "transforms/loops_made_one.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/model/domain.h"
#include "core/order/reference.h"
#include "core/rewrite/iname_rewrite.h"

namespace moonloop {
namespace {

class Renaming {
 public:
  Renaming(const Kernel& k, const std::vector<std::pair<std::string, std::string>>& loops) : k_(k) {
    for (const auto& [own, name] : loops) names_.emplace(own, name);
    simple_ =
        names_.size() == loops.size() && k.rules.empty() && k.slabs.empty() && k.priorities.empty();
    for (const auto& [own, name] : names_)
      simple_ = simple_ && !renames(name) && !k.tag(own) && k.has_iname(own);
  }

  std::optional<Kernel> result() {
    if (!simple_) return std::nullopt;
    Kernel out = k_;
    if (!rename_domains(out) || !rename_instructions(out)) return std::nullopt;
    std::vector<std::string> order = out.loop_order;
    std::erase_if(order, [&](const std::string& i) { return names_.contains(i); });
    out.loop_order = std::move(order);
    domain_parents(out);  // refuses loops whose bounds need two separate ones
    return out;
  }

 private:
  bool renames(const std::string& iname) const { return names_.contains(iname); }

  /// Domains of loops that join others are, renamed, those of the others.
  bool rename_domains(Kernel& out) {
    std::vector<Domain> domains;
    std::unordered_map<std::string, Set> homes;  // by first iname
    std::vector<std::pair<std::string, Set>> joining;
    for (const Domain& d : k_.domains) {
      const std::vector<std::string> dims = d.inames(), params = d.params();
      const bool joins = std::any_of(dims.begin(), dims.end(), [&](auto& i) { return renames(i); });
      if (joins && !std::all_of(dims.begin(), dims.end(), [&](auto& i) { return renames(i); }))
        return false;
      Domain now = d;
      if (joins || std::any_of(params.begin(), params.end(), [&](auto& i) { return renames(i); }))
        now.set = rename_dims(now.set, names_);
      if (!are_distinct(now)) return false;
      if (joins) {
        joining.emplace_back(now.inames().front(), now.set);
        continue;
      }
      if (now.set.get() != d.set.get())
        for (const std::string& i : dims) bounded_.emplace(i, params);
      if (!dims.empty()) homes.emplace(dims.front(), now.set);
      domains.push_back(std::move(now));
    }
    for (const auto& [first, set] : joining) {
      const auto home = homes.find(first);
      if (home == homes.end() || !are_alike(home->second, set)) return false;
    }
    out.domains = std::move(domains);
    return true;
  }

  static bool are_distinct(const Domain& d) {
    std::vector<std::string> all = d.inames();
    const std::vector<std::string> params = d.params();
    all.insert(all.end(), params.begin(), params.end());
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) == all.end();
  }

  static bool are_alike(const Set& a, const Set& b) {
    if (dim_names(a) != dim_names(b)) return false;
    const Set aligned = isl_set_align_params(b.copy(), isl_set_get_space(a.get()));
    return yes(isl_set_plain_is_equal(a.get(), aligned.get()));
  }

  bool rename_instructions(Kernel& out) const {
    for (std::size_t n = 0; n < k_.instructions.size(); ++n) {
      const Instruction& insn = *k_.instructions[n];
      InameRewrite own;
      for (const std::string& i : insn.inames)
        if (const auto it = names_.find(i); it != names_.end()) {
          if (insn.inames.contains(it->second)) return false;
          own.old.push_back(i);
          own.fresh.push_back(it->second);
          own.old_in_new[i] = var(it->second);
          own.bound[i] = {it->second};
        }
      if (!keeps_bounds(insn, own)) return false;
      if (own.old.empty()) continue;
      out.instructions[n] = edit(k_.instructions[n], [&](Instruction& i) {
        for (Expr& e : i.lhs) e = rewrite_inames(e, own);
        i.rhs = rewrite_inames(i.rhs, own);
        for (Expr& e : i.predicates) e = rewrite_inames(e, own);
        for (const std::string& old : own.old) i.inames.erase(old);
        i.inames.insert(own.fresh.begin(), own.fresh.end());
        compose_origin(i, own.old_in_new, insn.inames);
      });
    }
    return true;
  }

  /// Whether the instruction, in no reduction of its own, is in all loops that bounds of its loops
  /// depend on, and two of its loops become no one.
  bool keeps_bounds(const Instruction& insn, const InameRewrite& own) const {
    const std::set<std::string> fresh(own.fresh.begin(), own.fresh.end());
    if (fresh.size() != own.fresh.size()) return false;
    for (const std::string& i : all_inames(k_, insn)) {
      if (!insn.inames.contains(i) && (renames(i) || bounded_.contains(i))) return false;
      if (const auto at = bounded_.find(i); at != bounded_.end())
        for (const std::string& p : at->second)
          if (renames(p) && !insn.inames.contains(p)) return false;
    }
    return true;
  }

  const Kernel& k_;
  std::map<std::string, std::string> names_;
  bool simple_ = true;
  /// By iname: the parameters of its domain, where these are renamed.
  std::unordered_map<std::string, std::vector<std::string>> bounded_;
};

}  // namespace

std::optional<Kernel> loops_made_one(
    const Kernel& k, const std::vector<std::pair<std::string, std::string>>& loops) {
  return Renaming(k, loops).result();
}

}  // namespace moonloop
