#pragma once
#include <set>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Gives those of `own`, the loop and loops in it, that share the loop's domain a domain apart from
/// the loops around: what bounds them later bounds nothing else. Cost: two projections.
void detach_loop(Kernel& k, const std::string& iname, const std::set<std::string>& own);

/// Affine conditions on the loop that all statements in it share become its bounds: the instances
/// are the same. `own` as above. Cost: one set for each condition that they share.
void take_conditions_as_bounds(Kernel& k, const std::string& iname,
                               const std::set<std::string>& own);

}  // namespace moonloop
