#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Gives instructions reductions over inames of their own, which no other instruction has.
///
///     a[i] = sum(j, x[i, j])            a[i] = sum(j, x[i, j])
///     b[i] = max(j, x[i, j])            b[i] = max(j_0, x[i, j_0])
///
/// \param inames  empty: all that more than one instruction uses
/// Refuses  unknown-iname; no-match; not-reduced  no selected instruction reduces over the iname;
///          shared-bound  the bounds of another loop depend on it; and what duplicate_inames()
///          refuses
Kernel make_reduction_inames_unique(const Kernel& k, const std::vector<std::string>& inames,
                                    const Match& within);

}  // namespace moonloop
