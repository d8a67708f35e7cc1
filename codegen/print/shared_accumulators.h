#pragma once
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// An accumulator that lives on from one iteration of parallel loops to the next, so that each
/// iteration needs a part of its own, which are put together afterwards.
struct SharedAccumulator {
  std::string name;
  const Instruction* update;  // one of those that add to it
  std::string over;           // one of the loops
};

/// Those of the loops `inames`, of which `loop` is the outermost, sorted by their names.
std::vector<SharedAccumulator> shared_accumulators(const Loop& loop,
                                                   const std::set<std::string>& inames,
                                                   const Plan& plan);

/// `all`, none of which has several values. Refuses `unsupported`: such as those of `argmin`.
std::vector<SharedAccumulator> of_one_value(std::vector<SharedAccumulator> all, const Plan& plan);

/// Parallel loops that nest perfectly, whose bounds do not depend on one another, from `outer` on:
/// they run together.
std::vector<const Loop*> spread_together(const Loop& outer, const Plan& plan);

}  // namespace moonloop
