#pragma once
#include "codegen/plan/plan.h"
#include "core/count/count_map.h"

namespace moonloop {

/// How often a kernel's program synchronizes, Loo.py's `get_synchronization_map`: by `kind` and
/// `kernel`.
///
///  * `kernel_launch`: kernels that the host starts. 1 on a CPU, where it is a call.
///  * `barrier_global`: kernels that wait for the one before them.
///  * `barrier_local`: barriers that one group meets, as in `show --what schedule`, and those in
///    which its work-items combine the parts of a reduction. Where groups meet different numbers, a
///    bound.
///
/// Fails `data-dependent-count`, and as count_set() does.
CountMap sync_counts(const Plan& plan);

}  // namespace moonloop
