#pragma once
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// The plan as a program: loops with exact bounds, guards only where bounds do not imply them,
/// slabs separate, `unr` loops unrolled. Declares each temporary where the plan puts it.
///
/// Each loop gets its bounds from isl by itself, over the points that the statements below need;
/// outer inames are parameters. Conditions that mention no inner iname are outside the loops that
/// they do not depend on. Cost: a few isl operations per loop and per distinct domain in it.
///
/// Fails `unroll-bound` (an `unr` loop whose trip count has no constant bound), `cannot-nest` (a
/// loop's bounds need a temporary that is written inside of it).
Block make_loops(const Plan& plan);

/// The statements of the plan in their loops, each at least once in each form that make_loops() may
/// give it, but without bounds, guards and copies: for whoever asks whether there is code. Where it
/// does not fail, neither does make_loops(), unless that takes too many of isl's operations; where
/// it fails, make_loops() may give a program. Cost: mostly that of the points that nodes need.
Block outline_loops(const Plan& plan);

}  // namespace moonloop
