#pragma once
#include "frontends/fortran/program.h"

// Expressions of whole arrays and sections, element by element. Such an array stands as its name
// alone, a section has Slices among its subscripts.
namespace moonloop::fortran {

/// What an array expression runs along: subscripts from `lower` to `upper` in steps.
struct Axis {
  Expr lower, upper;
  std::int64_t step = 1;
  Expr least, most;  // the array's own bounds; `most` is null for an assumed size
};

/// The axes of the first array or section in `e`, which all others in it have the extents of;
/// none where `e` is a scalar. Fails `unsupported` for a step that is no constant.
std::vector<Axis> axes_of(const Expr& e, const Routine& routine);

/// The element of `e` at these numbers, from 0, along its axes.
Expr element(const Expr& e, const Exprs& numbers, const Routine& routine);

/// An intrinsic that makes a scalar of an array, as the reader names it: `array sum`.
inline constexpr const char* kOfArray = "array ";
bool is_of_array(const Expr& e);

}  // namespace moonloop::fortran
