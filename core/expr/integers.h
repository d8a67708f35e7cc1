#pragma once
#include "core/base/diagnostic.h"
#include "core/expr/expr_node.h"

/// The operators of index expressions on integers, as core/expr/expr.h specifies them.
namespace moonloop {

/// Rounds towards minus infinity. `b` is neither 0 nor -1: the quotient exists.
template <class T>
T floor_div(T a, T b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
/// With the sign of `b`.
template <class T>
T floor_mod(T a, T b) {
  return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
}

template <class T>
bool holds(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Eq: return a == b;
    case CompareOp::Ne: return a != b;
    case CompareOp::Lt: return a < b;
    case CompareOp::Le: return a <= b;
    case CompareOp::Gt: return a > b;
    case CompareOp::Ge: return a >= b;
  }
  throw InternalError("no such comparison");
}

}  // namespace moonloop
