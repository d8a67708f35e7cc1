#pragma once
#include <functional>

#include "core/model/kernel.h"

namespace moonloop {

/// `k`, complete, with the bodies of called kernels in the places of the calls that `which` picks:
/// loops, temporaries and statements of the callee under names that are new in `k`, elements of its
/// arguments as elements of the caller's arrays. A value that is passed is computed once, before,
/// where it is not an expression of loops and parameters. The result means what `k` means, in the
/// order of its text; steps done to `k` before are forgotten (core/order/reference.h, rebase).
///
/// Fails `unsupported` for what has no place in the caller: initial values that the callee changes,
/// flat subscripts of arguments, sizes of temporaries that are computed in the kernel. Cost: linear
/// in the bodies, and isl once for each loop and each size of a temporary.
///
/// `with_steps`: of a callee that steps were done to, the loops and the storage that these gave it,
/// which are its order then.
Kernel inline_calls(const Kernel& k, const std::function<bool(const Instruction&)>& which,
                    bool with_steps = false);

/// Without any calls of kernels, those in callees too.
Kernel inline_all_calls(Kernel k);

}  // namespace moonloop
