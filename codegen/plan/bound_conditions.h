#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/domains.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// Where the scalars that bounds of loops need are computed at all.
class BoundConditions {
 public:
  /// Both have to stay; instructions may be added to `k` that write none of these scalars.
  BoundConditions(const Kernel& k, const Domains& domains);

  /// The conditions that all statements of the loop share with those that write its bounds, and
  /// that nothing in the loop changes: only under these have its bounds values. Loops over `fixed`
  /// change nothing: who asks has one value of each, as a work-item has.
  Exprs of(const PlanNode& loop, const std::set<std::string>& fixed = {}) const;

 private:
  void collect(const PlanNode& node, std::vector<int>& insns, std::set<std::string>& changed) const;

  const Kernel& k_;
  const Domains& domains_;
  std::map<std::string, std::vector<int>> writers_;  // of bounds that are data
};

}  // namespace moonloop
