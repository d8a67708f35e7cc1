#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// The largest power of two, at most 16, that divides the integer expression whatever its variables
/// are under the kernel's assumptions. Found by its form: 1 where that says nothing. Cost: isl once
/// per variable.
std::int64_t divisor_of(const Kernel& k, const Expr& e);

/// How much `e` grows when `iname` grows by one; nothing unless that is one constant.
std::optional<std::int64_t> step_along(const Expr& e, const std::string& iname);

}  // namespace moonloop
