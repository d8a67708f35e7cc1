#pragma once
#include "core/kernel.h"

namespace moonloop {

/// Fails `out-of-bounds` when some affine subscript can leave its array under the kernel's domains,
/// assumptions and affine conditions, for some values of the parameters. Subscripts, shapes and
/// bounds that depend on data are not judged. `k` has no rules, and all shapes. Cost: isl once per
/// different subscript, place and extent.
void check_bounds(const Kernel& k);

}  // namespace moonloop
