#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// A loop's variable becomes how far an iteration is from the first one.
///
///     for t: for i = 64*t + 1 … n - 1: y[i] = …
///
///     becomes   for t: for p = 0 … n - 64*t - 2: y[p + 64*t + 1] = …
///
/// \param name  of the new loop; where empty, one is chosen
/// Refuses  unknown-iname, name-taken, bad-name
///          tagged-iname
///          starts-at-zero   the loop starts at zero anyway
///          no-first         it never runs, or no affine expression of the loops around it and the
///                           parameters is its first value for all statements
///          and all that map_domain refuses
/// Cost     one parametric minimum, and that of map_domain
Kernel start_at_zero(const Kernel& k, const std::string& iname, const std::string& name = "",
                     const Span& at = {});

}  // namespace moonloop
