#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Makes one reduction two, one inside the other. With `inames` = `i`,
///
///     sum((i, j, k), e)   becomes inward    sum((j, k), sum(i, e))
///                                 outward   sum(i, sum((j, k), e))
///
/// All one-valued reductions over `inames` and more, in the instructions that `within` selects,
/// also those in substitution rules: a rule that other instructions call too is expanded in the
/// selected ones. Reductions are associative and commutative, so nothing needs a proof; the new
/// order becomes the kernel's meaning.
///
/// Refuses  unknown-iname; no-inames, twice; no-match; no-reduction (no reduction is over `inames`
///          and more); two-valued (`argmin` and similar ones)
Kernel split_reduction_inward(const Kernel& k, const std::vector<std::string>& inames,
                              const Match& within = {});
Kernel split_reduction_outward(const Kernel& k, const std::vector<std::string>& inames,
                               const Match& within = {});

}  // namespace moonloop
