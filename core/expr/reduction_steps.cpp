#include "core/expr/reduction_steps.h"

#include <cstdint>
#include <limits>

namespace moonloop {
namespace {

Expr either(const Expr& a, const Expr& b) { return Expr(Nary{NaryOp::Or, {a, b}}); }

/// The index that says that there is no value: -1, which an unsigned type has as its greatest
/// value.
Expr no_index(const Type& t) { return is_unsigned(t.scalar) ? Expr(Cast{t, lit(-1)}) : lit(-1); }

/// Of equal values the one with the smaller index wins; one whose index says that there is none
/// never does.
Exprs better(CompareOp op, const Exprs& a, const Exprs& b, const Type& index) {
  const auto test = [](CompareOp o, const Expr& x, const Expr& y) {
    return Expr(Compare{o, x, y});
  };
  const Expr smaller =
      either(test(CompareOp::Lt, b[1], a[1]), test(CompareOp::Eq, a[1], no_index(index)));
  const Expr tie = conjunction(
      {test(CompareOp::Eq, b[0], a[0]), test(CompareOp::Ne, b[1], no_index(index)), smaller});
  const Expr later = either(test(op, b[0], a[0]), tie);
  return {Expr(Select{later, b[0], a[0]}), Expr(Select{later, b[1], a[1]})};
}

}  // namespace

Expr extreme_value(const Type& t, bool least) {
  if (t.scalar == Scalar::Bool) return Expr(BoolLit{!least});
  if (is_real(t.scalar)) {
    const double inf = std::numeric_limits<double>::infinity();
    const Expr wide(FloatLit{inf, {}});
    return least ? Expr(Unary{UnaryOp::Neg, wide}) : wide;
  }
  const int bits = 8 * size_of(t.scalar) - (is_unsigned(t.scalar) ? 0 : 1);
  if (bits == 64) return least ? lit(0) : Expr(Cast{t, lit(-1)});
  const std::int64_t most = bits == 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
  if (!least) return lit(most);
  if (bits == 63)  // without its sign, the literal would not be one of the type
    return Expr(Nary{NaryOp::Add, {lit(-most), lit(-1)}});
  return lit(is_unsigned(t.scalar) ? 0 : -most - 1);
}

Exprs neutral_values(ReduceOp op, const std::vector<Type>& types) {
  if (const auto own = within_segments(op))
    return {neutral_values(*own, types)[0], Expr(BoolLit{false})};
  switch (op) {
    case ReduceOp::Sum: return {lit(0)};
    case ReduceOp::Product: return {lit(1)};
    case ReduceOp::Min: return {extreme_value(types[0], false)};
    case ReduceOp::Max: return {extreme_value(types[0], true)};
    case ReduceOp::ArgMin: return {extreme_value(types[0], false), lit(-1)};
    case ReduceOp::ArgMax: return {extreme_value(types[0], true), lit(-1)};
    case ReduceOp::Any: return {Expr(BoolLit{false})};
    case ReduceOp::All: return {Expr(BoolLit{true})};
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;
  }
  return {};
}

Exprs combined(ReduceOp op, const Exprs& a, const Exprs& b, const std::vector<Type>& types) {
  const auto nary = [&](NaryOp o) { return Expr(Nary{o, {a[0], b[0]}}); };
  if (const auto own = within_segments(op)) {
    const Expr both = combined(*own, {a[0]}, {b[0]}, types)[0];
    return {Expr(Select{b[1], b[0], both}), either(a[1], b[1])};
  }
  switch (op) {
    case ReduceOp::Sum: return {nary(NaryOp::Add)};
    case ReduceOp::Product: return {nary(NaryOp::Mul)};
    case ReduceOp::Min: return {call("min", {a[0], b[0]})};
    case ReduceOp::Max: return {call("max", {a[0], b[0]})};
    case ReduceOp::ArgMin: return better(CompareOp::Lt, a, b, types[1]);
    case ReduceOp::ArgMax: return better(CompareOp::Gt, a, b, types[1]);
    case ReduceOp::Any: return {nary(NaryOp::Or)};
    case ReduceOp::All: return {nary(NaryOp::And)};
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;
  }
  return {};
}

}  // namespace moonloop
