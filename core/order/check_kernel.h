#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Every access within its array's shape under the kernel's domains, assumptions and affine
/// predicates (also those of conditional expressions). Fails `out-of-bounds` with an offending
/// index and the instance. Accesses that are not affine are skipped. Also: `writes-input` (a domain
/// parameter or a scalar argument is written), `empty-domain` (the assumptions contradict each
/// other), `unbounded-iname`, `undefined-read` (a temporary read before any write), `rank-mismatch`
/// with the declared shape, `size-overflow`.
void check_kernel(const Kernel& k);

/// Inference (core/infer/infer.h) and the checks, in order: what code generation and the
/// interpreter start from.
Kernel complete(Kernel k);

}  // namespace moonloop
