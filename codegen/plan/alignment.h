#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// The largest power of two, at most 16, that divides the integer expression for all values of its
/// variables under the kernel's assumptions. Found from its form: 1 where that is not enough. Cost:
/// isl once per variable.
std::int64_t divisor_of(const Kernel& k, const Expr& e);

/// The one value of `e` for all values of its variables; nothing unless that is plain from its
/// form.
std::optional<std::int64_t> constant_value(const Expr& e);

/// How much `e` grows when `iname` grows by one; nothing unless that is one constant.
std::optional<std::int64_t> step_along(const Expr& e, const std::string& iname);

}  // namespace moonloop
