#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/order/order.h"

namespace moonloop {

/// What must be equal, in `x_dims` and in `y_dims`, where two subscripts that are not affine name
/// one element of an array that the user claims is disjoint: one subscript names another element
/// for other values of its inames, and two subscripts never name the same.
struct ClaimedEqual {
  bool never = false;
  Exprs x, y;  // affine
};

/// `a*a` and `(4*o + i)*(4*o + i)` are one subscript, which steps have rewritten in one of the
/// statements: `a` and `4*o + i` are equal then. A temporary has another value in each iteration of
/// the loops around all its writers, and may have the same within one. Nothing where it is not
/// known whether two subscripts are one: one may read a copy of what the other reads. Cost: linear
/// in the expressions; in the kernel where temporaries are read.
std::optional<ClaimedEqual> claimed_equal(const Kernel& k, const Variables& variables,
                                          const Expr& x, const std::vector<std::string>& x_dims,
                                          const Expr& y, const std::vector<std::string>& y_dims);

}  // namespace moonloop
