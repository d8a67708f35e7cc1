#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/order/order.h"

namespace moonloop {

/// What has to be equal, in `x_dims` and in `y_dims`, where two subscripts that are not affine name
/// one element, of an array that the user says is disjoint: one subscript names another element for
/// other values of its inames, and two subscripts never name the same.
struct ClaimedEqual {
  bool never = false;
  Exprs x, y;  // affine
};

/// `a*a` and `(4*o + i)*(4*o + i)` are one subscript, which steps have rewritten in one of the
/// statements: `a` and `4*o + i` are equal then. What a temporary holds is another value in each
/// iteration of the loops around all its writers, and may be the same in one of them. Nothing where
/// it is not known whether two subscripts are one: of those, one may read a copy of what the other
/// one reads. Cost: linear in the expressions; in the kernel where temporaries are read.
std::optional<ClaimedEqual> claimed_equal(const Kernel& k, const Variables& variables,
                                          const Expr& x, const std::vector<std::string>& x_dims,
                                          const Expr& y, const std::vector<std::string>& y_dims);

}  // namespace moonloop
