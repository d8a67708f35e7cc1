#pragma once
#include <algorithm>

#include "frontends/fortran/program.h"
#include "frontends/fortran/sections.h"

// Pointers that have other axes than what they point to: `m(1:n, 1:k) => x`, where `x` has one
// axis.
namespace moonloop::fortran {

/// What a pointer points to.
struct Target {
  Expr place;          // null: nothing
  Exprs lower;         // of the pointer's axes
  Exprs extents = {};  // of the pointer's axes, where these are others than the target's
  bool old = false;    // its subscripts have other values now
};
inline bool same(const Expr& a, const Expr& b) { return a && b ? equal(a, b) : !a && !b; }
inline bool same(const Exprs& a, const Exprs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return same(x, y); });
}
inline bool operator==(const Target& a, const Target& b) {
  return a.old == b.old && same(a.place, b.place) && same(a.lower, b.lower) &&
         same(a.extents, b.extents);
}
using Targets = std::map<std::string, Target>;  // by pointer

/// The part that has these subscripts of the pointer; `array`: the target, or what it is part of.
/// Fails `unsupported` for a section along several axes.
Expr remapped_part(const Target& t, const Variable& array, const Exprs& index, const Span& at);
/// All elements of such a pointer, along one axis.
Expr all_in_one_axis(const Target& t, const Variable& array, const Span& at);
/// The first element, as an argument that means those from there on. Fails `unsupported` for a
/// target with gaps.
Expr from_first(const Target& t, const Variable& array, const Span& at);

/// The assignment for each row of an array of several axes, where it has such pointers along
/// several axes; nothing for others.
std::optional<Forall> assigned_by_rows(const Assignment& a, const Targets& targets, Routine& r,
                                       const Span& at);

}  // namespace moonloop::fortran
