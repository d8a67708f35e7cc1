#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Two subscripts that are equal where all of the first list equal those of the second one.
using CommonDigits = std::pair<Exprs, Exprs>;

/// `(i + 1)*m + j` and `p*m + q`: the digits `i + 1`, `j` and `p`, `q` of numbers to the base `m`,
/// a parameter or an expression of some, if the lower digits of the two are always less than `m`
/// apart; further digits where inames are multiplied with multiples of that. Affine in `x_dims` and
/// `y_dims`, the inames of the two. Nothing where subscripts are no such numbers, or the loops'
/// bounds do not say that they are. Cost: two questions to isl for each digit but the first.
///
/// Source: Grosser, Ramanujam, Pouchet, Sadayappan, Pop, Optimistic Delinearization of
/// Parametrically Sized Arrays, ICS 2015; here the bounds have to prove what is assumed there.
std::optional<CommonDigits> common_digits(const Kernel& k, const Expr& x,
                                          const std::vector<std::string>& x_dims, const Expr& y,
                                          const std::vector<std::string>& y_dims);

}  // namespace moonloop
