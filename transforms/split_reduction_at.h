#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Cuts a reduction at a value of its iname, an affine expression over the loops around it and
/// parameters:
///
///     sum(j, e)   becomes   sum(j, e) + sum(j_from, e)    with j < at, and j_from >= at
///
/// Among sums that are added, both parts are terms of the addition.
/// All reductions over `iname` are cut, also those in rules, which are expanded. Reductions are
/// associative and commutative, so nothing needs a proof; the new order becomes the kernel's
/// meaning. `from`: name of the second part's iname; empty: chosen.
///
/// Refuses  unknown-iname; tagged-iname; no-reduction (none is over `iname`); not-a-reduction-loop
///          (it is a loop of an instruction, or of a reduction over several inames); two-valued
///          (`argmin` and similar ones, whose parts are not put together by an expression);
///          bad-place (`at` is not affine in loops around and parameters)
Kernel split_reduction_at(const Kernel& k, const std::string& iname, const std::string& at,
                          const std::string& from, const Span& span);

}  // namespace moonloop
