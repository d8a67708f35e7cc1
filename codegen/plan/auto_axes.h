#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Loops tagged `l.auto` given axes of the work-group that the other tags span: the loop along the
/// smallest stride in memory gets `l.0`, the others follow from the innermost outwards. A loop
/// longer than its axis is split, and the outer part runs in sequence; loops beyond the axes run in
/// sequence as a whole. Where parameters decide the length of an axis, it takes loops that are
/// never longer. None of this changes which iterations are in order, for `l.auto` promises none, so
/// the kernel stays legal.
///
/// Fails `unsupported` for an `l.auto` or `l.N` loop whose length depends on computed values.
Kernel assign_automatic_axes(Kernel k);

/// Iterations from the first to the last of `iname`, at most; nothing without a constant bound.
std::optional<std::int64_t> longest(const Kernel& k, const std::string& iname);

/// The first or the last value of the one dimension of `s`, over parameters; one before the first
/// or after the last where telling it exactly takes many cases.
Expr range_end(const Set& s, bool first);

/// Whether `a` is never greater than `b`, both over parameters.
bool never_exceeds(const Kernel& k, const Expr& a, const Expr& b);
/// The larger one of the two.
Expr larger(const Kernel& k, const Expr& a, const Expr& b);

}  // namespace moonloop
