#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Iterations of a loop in which nothing runs are left out of its bounds.
///
///     for b: for i = 0 … n - 1: for k = 64*b … min(i, 64*b + 64) - 1: s
///
///     becomes   for b: for i = 64*b + 1 … n - 1: for k = …: s
///
/// Bounds stay one range of values, so that idle iterations between others remain.
///
/// Refuses  unknown-iname
///          no-idle   each iteration may run something, or those that do have no other bounds
/// Cost     a projection for each statement in the loop
Kernel tight_bounds(const Kernel& k, const std::string& iname);

}  // namespace moonloop
