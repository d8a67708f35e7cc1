#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Two lists of subscripts: the subscripts are equal where those of the first list equal those of
/// the second.
using CommonDigits = std::pair<Exprs, Exprs>;

/// `(i + 1)*m + j` and `p*m + q`: the digits `i + 1`, `j` and `p`, `q` of numbers to the base `m`,
/// a parameter or an expression of some, if the lower digits of the two always differ by less than
/// `m`; further digits where inames are multiplied by multiples of that. Affine in `x_dims` and
/// `y_dims`, the inames of the two. Nothing where subscripts are not such numbers, or the loops'
/// bounds do not imply it. Cost: two queries of isl for each digit but the first.
///
/// Source: Grosser, Ramanujam, Pouchet, Sadayappan, Pop, Optimistic Delinearization of
/// Parametrically Sized Arrays, ICS 2015; here the bounds have to prove what is assumed there.
std::optional<CommonDigits> common_digits(const Kernel& k, const Expr& x,
                                          const std::vector<std::string>& x_dims, const Expr& y,
                                          const std::vector<std::string>& y_dims);

}  // namespace moonloop
