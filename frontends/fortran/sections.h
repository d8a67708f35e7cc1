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

/// The first subscript of an axis.
Expr first_of(const Bounds& b);

/// How many subscripts stand between two, in steps, where there are some.
Expr length(const Expr& first, const Expr& last, std::int64_t step);

/// The axes of the first array or section in `e`, which all others in it have the extents of;
/// none where `e` is a scalar. Fails `unsupported` for a step that is no constant.
std::vector<Axis> axes_of(const Expr& e, const Routine& routine);

/// The element of `e` at these numbers, from 0, along its axes; along those without a number all of
/// it stays.
Expr element(const Expr& e, const Exprs& numbers, const Routine& routine);

/// The element from which on the array or section `e` lies in memory without gaps; null where it
/// has gaps. `e` itself where it is an array's name or an element.
Expr first_in_memory(const Expr& e, const Routine& routine);

// Calls whose arguments are arrays, by the prefix of their names.
inline constexpr const char* kOfArray = "array ";  // an intrinsic that makes a scalar of arrays
inline constexpr const char* kArrays = "arrays ";  // one that makes an array of arrays
inline constexpr const char* kFunction =
    "function ";  // a function of the input, of which one value
inline constexpr const char* kElemental = "elemental ";  // the same, element by element
/// An array constructor of one axis: values, arrays of one axis, and for an implied `do` a call
/// of kImplied: of its variable, its bounds, its step, and its values.
inline constexpr const char* kValues = "values";
inline constexpr const char* kImplied = "implied do";
/// A constant of several axes: their number, how long they are, and the values.
inline constexpr const char* kTable = "table";
/// A function of the input that gives an array.
inline constexpr const char* kArrayFunction = "array function ";
/// What statements make of an array: `maxloc` and `minloc` of an array, a mask, and whether
/// one number is asked for; `reshape` of an array and the extents.
inline constexpr const char* kMade = "made ";
/// The first or the last subscript of an array along an axis, or of all axes.
inline constexpr const char* kBound = "bound ";
/// The name behind `prefix` of what `e` calls; empty for other expressions.
std::string called(const Expr& e, const char* prefix);
/// It is one value, although arrays stand in it.
bool is_of_arrays(const Expr& e);

}  // namespace moonloop::fortran
