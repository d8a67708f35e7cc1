#pragma once
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"

// Loops tagged `mma`: on CUDA the warp's work-items together add a product of small matrices of
// doubles to values in registers, as the plain loop does for each of them.
namespace moonloop {

/// Finds the statements of `mma` loops, checks that they have the form that the hardware takes, and
/// moves these loops inside of the statement's lanes. For CUDA, after place_lanes(). Refuses
/// `no-matrix-unit`, naming what does not fit.
void place_matrix_units(Plan& plan);

/// Writes out those matrix products in `program` that not all of a warp's work-items may reach, and
/// refuses `no-matrix-unit` a statement with no others left.
void keep_whole_warps(Block& program, const Plan& plan);

}  // namespace moonloop
