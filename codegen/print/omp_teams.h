#pragma once
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// What a loop's first pragma begins with where its iterations are those of a team of its own, and
/// where they are those of the team around.
inline constexpr const char *kParallelFor = "omp parallel for", *kFor = "omp for";
/// The pragma of the block that such a team runs.
inline constexpr const char* kParallel = "omp parallel";

/// One team for `omp parallel for` loops that follow each other, perhaps under conditions, so that
/// its threads start once. All threads ask the same conditions and bounds, which the loops must not
/// change. A loop ends when all threads have done their part, or, as `nowait`, before that, where
/// no loop after it in the team meets it in an element that one of them writes. Cost: isl for pairs
/// of accesses of one variable, until a budget is spent; what is not proved waits.
void join_teams(Block& program, const Plan& plan);

/// The loops of `omp parallel for` as `omp for`, where all threads of a team run the program, and it
/// consists of such loops, perhaps under conditions, and of scalars that each thread computes for
/// itself. Whether it does; otherwise nothing changes.
bool share_with_callers(Block& program, const Plan& plan);

}  // namespace moonloop
