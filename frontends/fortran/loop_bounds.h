#pragma once
#include "core/expr/expr.h"

namespace moonloop::fortran {

/// A sum with one quotient towards zero by a positive number: the dividend, the number, and the
/// rest of the sum. Other expressions have 1 for the number and no rest.
struct Quotient {
  Expr first;
  std::int64_t by;
  Expr rest;
};
Quotient split_quotient(const Expr& e);

/// `i <= e` (`most`) or `i >= e` as a condition without such quotients.
Expr side(const Expr& i, const Expr& e, bool most);

}  // namespace moonloop::fortran
