#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// `k` with `code`, made by steps of the kernel `name` that it calls, as the function that is
/// generated for that one. What a call means stays what it was.
///
/// Refuses  no-match       `k` calls no such kernel
///          other-kernel   `code` was not made of it
///          other-argument its arguments are no longer what the call gives
Kernel with_callee_code(const Kernel& k, const std::string& name, const Kernel& code);

/// The same for the kernels of a file, or of a script: where one of them calls another one that has
/// had steps of its own, its code is that of these. Only for the kernels that `asked` picks, and
/// what they call: the others may have callees that no longer fit.
std::vector<Kernel> linked(
    std::vector<Kernel> kernels,
    const std::function<bool(const Kernel&)>& asked = [](const Kernel&) { return true; });

}  // namespace moonloop
