#pragma once
#include <functional>

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// `.and.` or `.or.` of scalars, `e`, whose operands' calls run as gfortran runs them, if it
/// optimizes: from left to right, and only as far as the earlier operands leave the value open.
/// `value` gives an operand and appends what has to run before it. Of arrays, all operands count;
/// what functions give that is an array or of a derived type is computed ahead of the whole. Empty
/// for other expressions.
Expr operands_in_turn(const Expr& e, Routine& routine, const Span& at, Body& out,
                      const std::function<Expr(const Expr&, Body&)>& value);

}  // namespace moonloop::fortran
