#include "frontends/fortran/loop_domains.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "frontends/fortran/loop_bounds.h"

namespace moonloop::fortran {

bool LoopDomains::stays(const Expr& e) const {
  std::set<std::string> names;
  collect_vars(e, names);
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& n) { return has(n) || is_parameter_(n); }) &&
         to_condition(Expr(Compare{CompareOp::Ge, split_quotient(e).first, lit(0)}), {});
}

bool LoopDomains::add(const std::string& iname, const Exprs& conditions, const text::Word& name,
                      const Names& around) {
  const auto set = to_condition(conjunction(conditions), {iname});
  if (!set) return false;
  std::set<std::string> needs;
  bool data = false;
  for (const std::string& n : Domain{*set, {}}.params()) {  // what cancels out is not among them
    if (has(n)) needs.insert(n);
    data |= !has(n) && !is_parameter_(n);
  }
  if (data) needs.insert(around.begin(), around.end());  // where the bound is computed
  nest(needs, around);
  loops_.emplace(iname, Loop{k_.domains.size(), conditions, around, std::move(needs)});
  k_.domains.push_back({*set, name});
  return true;
}

bool LoopDomains::reaches(const std::string& from, const std::string& to) const {
  const std::set<std::string>& needs = loops_.at(from).needs;
  return needs.count(to) != 0 || std::any_of(needs.begin(), needs.end(),
                                             [&](const std::string& n) { return reaches(n, to); });
}

void LoopDomains::nest(const std::set<std::string>& inames, const Names& around) {
  std::string outer;
  for (const std::string& inner : around) {
    if (!inames.count(inner)) continue;
    if (!outer.empty() && !reaches(inner, outer)) {
      Loop& l = loops_.at(inner);
      l.needs.insert(outer);
      nest(l.needs, l.around);
      const Exprs& more = loops_.at(outer).conditions;
      l.conditions.insert(l.conditions.end(), more.begin(), more.end());
      const auto set = to_condition(conjunction(l.conditions), {inner});
      ensure(set.has_value(), "conditions that were affine");
      k_.domains[l.domain].set = *set;
    }
    outer = inner;
  }
}

}  // namespace moonloop::fortran
