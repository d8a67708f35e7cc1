#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Where work-items that run together update one element of these arrays atomically, one of them
/// does it for all:
///
///     h[d[i]] = h[d[i]] + x[i]   {atomic}    becomes    h[d[i]] = h[d[i]] + x[i] {atomic=combined}
///
/// Each of the selected atomic updates is marked (`Instruction::combined`). Target `cuda` combines
/// those of a warp; elsewhere each is made by itself.
///
/// Refuses  unknown-variable; no-match (no selected instruction updates it atomically); and as
///          combinable_update does
/// Source   Westphal, "Voting and shuffling to optimize atomic operations" (2015)
Kernel combine_updates(const Kernel& k, const std::vector<std::string>& variables,
                       const Match& within);

}  // namespace moonloop
