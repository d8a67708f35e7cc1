#pragma once
#include "frontends/fortran/program.h"

// Expressions of whole arrays and sections, element by element. A whole array is its name alone, a
// section has Slices among its subscripts.
namespace moonloop::fortran {

/// One axis of an array expression: subscripts from `lower` to `upper` in steps.
struct Axis {
  Expr lower, upper;
  Expr step = lit(1);
  Expr least, most;  // the array's own bounds; `most` is null for an assumed size
};

/// The first subscript of an axis.
Expr first_of(const Bounds& b);

/// The number of subscripts from one to another, in steps, where there are some.
Expr length(const Expr& first, const Expr& last, std::int64_t step);
Expr length(const Expr& first, const Expr& last, const Expr& step);

/// The axes of the first array or section in `e`, which all others in it have the extents of; none
/// where `e` is a scalar.
std::vector<Axis> axes_of(const Expr& e, const Routine& routine);

/// The element of `e` at these numbers, from 0, along its axes; along those without a number all of
/// it stays.
Expr element(const Expr& e, const Exprs& numbers, const Routine& routine);

/// The section `inner` of the section `outer` of an array; `moved`: a subscript of that in the
/// array.
template <typename Moved>
Expr section_within(const Slice& outer, const Slice& inner, const Moved& moved, const Span& at) {
  const Expr step = inner.step ? inner.step : lit(1);
  return Expr(Slice{inner.start ? moved(inner.start) : outer.start,
                    inner.stop ? moved(inner.stop) : outer.stop,
                    index_mul(outer.step ? outer.step : lit(1), step)},
              at);
}

/// The first element of the array or section `e` where that has no gaps in memory; null where it
/// has gaps. `e` itself where it is an array's name or an element.
Expr first_in_memory(const Expr& e, const Routine& routine);

// Calls whose arguments are arrays, by the prefix of their names.
inline constexpr const char* kOfArray = "array ";  // an intrinsic that makes a scalar of arrays
inline constexpr const char* kArrays = "arrays ";  // one that makes an array of arrays
inline constexpr const char* kFunction =
    "function ";  // a function of the input, which gives one value
inline constexpr const char* kElemental = "elemental ";  // the same, element by element
/// An array constructor of one axis: values, arrays of one axis, and for an implied `do` a call
/// of kImplied: of its variable, its bounds, its step, and its values.
inline constexpr const char* kValues = "values";
inline constexpr const char* kImplied = "implied do";
/// A constant of several axes: their number, how long they are, and the values.
inline constexpr const char* kTable = "table";
/// A function of the input that gives an array.
inline constexpr const char* kArrayFunction = "array function ";
/// Results of statements on an array: `maxloc`, `minloc` and `findloc` of an array, a mask, the axis
/// along which places are asked for, or 0, and whether the last place counts, the last one also of
/// the value;
/// `iall`, `iany`, `iparity` and `parity` of an array and a mask; `reshape` of an array, the number
/// of axes, the extents, what comes after the array's elements, and the axes by how fast they run;
/// `cshift` and `eoshift` of an array, a number and an axis, the latter also of what comes in;
/// `pack` of an array, a mask and the result before.
inline constexpr const char* kMade = "made ";
/// The first or the last subscript of an array along an axis, or of all axes.
inline constexpr const char* kBound = "bound ";
/// Of a name, of a variable of the routine's own, which statements set that give it memory.
inline constexpr const char* kAllocated = "allocated ";
/// Whether a pointer, the argument, points to anything.
inline constexpr const char* kAssociated = "associated";
/// A component of the record that a function of the input gives: which one it is, from 0, the
/// number of the call, the same for all its components, the number of the axes of the arrays to
/// whose elements the function is applied, and the arguments. The reader makes statements of it.
inline constexpr const char* kRecord = "record ";
/// A function's value: whether an argument has memory, the call where it has some, that where it
/// has none, which does not give the argument, and a number of the type. The reader makes
/// statements of it.
inline constexpr const char* kWhereThere = "where there";
/// Where an optional argument is not given.
inline constexpr const char* kAbsent = "absent";
bool is_absent(const Expr& e);
/// The name after `prefix` of the function that `e` calls; empty for other expressions.
std::string called(const Expr& e, const char* prefix);
/// Whether it is one value, although there are arrays in it.
bool is_of_arrays(const Expr& e);

}  // namespace moonloop::fortran
