#pragma once
#include <optional>
#include <string>

#include "core/kernel.h"

namespace moonloop {

/// What the iname `name`, which the kernel no longer has, is in terms of those that it has: `i` is
/// `i_inner + 16*i_outer` after a split. Nothing when no split and no new name in the kernel's
/// trace says so. Cost: one look at each step.
std::optional<Expr> former_iname(const Kernel& k, const std::string& name);

/// `e` with such names replaced. Fails `unknown-iname` for what is neither one of them nor a name
/// that the kernel has.
Expr with_present_inames(const Kernel& k, const Expr& e, const Span& at);

}  // namespace moonloop
