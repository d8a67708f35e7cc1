#include "codegen/plan/own_iterations.h"

#include <algorithm>

#include "core/sets/budget.h"

namespace moonloop {
namespace {

constexpr unsigned long kShareOperations = 200'000;

}  // namespace

std::vector<StatementAccess> OwnIterations::accesses(const std::string& temporary,
                                                     const std::vector<int>& insns) {
  if (!variables_) variables_.emplace(k_);
  std::vector<StatementAccess> out;
  for (const int i : insns)
    for (const Access& a : statement_accesses(*k_.instructions[std::size_t(i)], *variables_))
      if (a.variable == temporary) out.push_back({a, i});
  return out;
}

bool OwnIterations::conflict(const std::vector<StatementAccess>& accesses, const std::string& loop,
                             const std::vector<std::string>& outer) {
  if (!conflicts_) conflicts_.emplace(k_);
  for (const StatementAccess& x : accesses)
    for (const StatementAccess& y : accesses) {
      if ((!x.write && !y.write) || plainly_apart(x, y)) continue;
      const Map pairs = conflicts_->in_equal(conflicts_->pairs(x, y).all, x, y, outer);
      if (!yes(isl_map_is_empty(conflicts_->in_different(pairs, x, y, {loop}).get()))) return true;
    }
  return false;
}

bool OwnIterations::may_share(const std::string& temporary, const std::vector<int>& insns,
                              const std::string& loop, const std::vector<std::string>& outer) {
  try {
    const IslBudget budget(kShareOperations);
    if (!reference_) reference_.emplace(Nested{k_, tree_});
    const std::vector<std::string>& own = reference_->private_to(temporary);
    return std::find(own.begin(), own.end(), loop) == own.end() &&
           !conflict(accesses(temporary, insns), loop, outer);
  } catch (const IslQuota&) { return false; }
}

bool OwnIterations::apart(const std::string& temporary, const std::vector<int>& insns,
                          const std::string& loop, const std::vector<std::string>& outer) {
  const std::vector<StatementAccess> all = accesses(temporary, insns);
  if (!conflicts_) conflicts_.emplace(k_);
  for (std::size_t axis = 0; axis < all[0].index.size(); ++axis) {
    const Expr& first = all[0].index[axis];
    const bool same = std::all_of(all.begin(), all.end(), [&](const StatementAccess& a) {
      return a.index.size() > axis && equal(a.index[axis], first);
    });
    if (same && conflicts_->tells({first}, {loop})) return true;
  }
  try {
    const IslBudget budget(kProofOperations);
    return !conflict(all, loop, outer);
  } catch (const IslQuota&) { return false; }
}

}  // namespace moonloop
