#include "codegen/plan/bound_copies.h"

#include <algorithm>

namespace moonloop {

BoundCopies::BoundCopies(const Plan& plan, const Domains& domains) : plan_(plan) {
  for (const std::string& t : domains.data())
    if (plan.expansions.count(t)) copied_.push_back(t);
}

std::set<std::string> BoundCopies::unreadable(const std::vector<std::string>& loops) const {
  std::set<std::string> out;
  const auto counts = [&](const std::string& axis) {
    return std::any_of(loops.begin(), loops.end(), [&](const std::string& iname) {
      return plan_.kernel.tag(iname) && copy_axis(plan_.kernel, iname) == axis;
    });
  };
  for (const std::string& t : copied_) {
    const std::vector<std::string>& axes = plan_.expansions.at(t).axes;
    if (!std::all_of(axes.begin(), axes.end(), counts)) out.insert(t);
  }
  return out;
}

void BoundCopies::put_in(Block& block, const PlanNode& node) const {
  for (const std::string& t : copied_)
    if (const Expr copy = of(t, node)) put_in_bounds(block, t, copy);
}

/// What the statements of the node read; null: they do not.
Expr BoundCopies::of(const std::string& temporary, const PlanNode& node) const {
  const std::map<int, Exprs>& index = plan_.expansions.at(temporary).index;
  for (int i : node.insns())
    if (const auto it = index.find(i); it != index.end()) return load(temporary, it->second);
  for (const PlanNode& c : node.children)
    if (Expr e = of(temporary, c)) return e;
  return {};
}

}  // namespace moonloop
