#include "codegen/own_iterations.h"

#include <algorithm>

#include "core/budget.h"

namespace moonloop {
namespace {

constexpr unsigned long kShareOperations = 200'000;

}  // namespace

bool OwnIterations::may_share(const std::string& temporary, const std::vector<int>& insns,
                              const std::string& loop, const std::vector<std::string>& outer) {
  try {
    const IslBudget budget(kShareOperations);
    if (!reference_) reference_.emplace(Nested{k_, tree_});
    const std::vector<std::string>& own = reference_->private_to(temporary);
    if (std::find(own.begin(), own.end(), loop) != own.end()) return false;
    if (!conflicts_) conflicts_.emplace(k_);
    std::vector<StatementAccess> accesses;
    for (const int i : insns)
      for (const Access& a :
           statement_accesses(*k_.instructions[std::size_t(i)], reference_->variables))
        if (a.variable == temporary) accesses.push_back({a, i});
    for (const StatementAccess& x : accesses)
      for (const StatementAccess& y : accesses) {
        if (!x.write && !y.write) continue;
        bool exact = true;
        const Map pairs = conflicts_->in_equal(conflicts_->pairs(x, y, exact), x, y, outer);
        if (!yes(isl_map_is_empty(conflicts_->in_different(pairs, x, y, {loop}).get())))
          return false;
      }
    return true;
  } catch (const IslQuota&) { return false; }
}

}  // namespace moonloop
