#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// The calls of kernels in `k`, whose arguments and temporaries have types and shapes. Fails
/// `type-mismatch`; `bad-section` where an argument does not step through memory as what it gets
/// does; `out-of-bounds` where it is longer than that; `aliased-arguments` where a call may change
/// something that it gets twice; `callee-assumption` where the callee assumes what is not known to
/// hold. Cost: some queries of isl for each argument.
void check_calls(const Kernel& k);

}  // namespace moonloop
