#pragma once
#include <optional>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// The iname `name`, which the kernel no longer has, in terms of those that it has: `i` is
/// `i_inner + 16*i_outer` after a split, `ij // m` after two loops were joined. Nothing when the
/// instructions do not agree on it. Cost: one look at each step and each instruction.
std::optional<Expr> former_iname(const Kernel& k, const std::string& name);

/// `e` with such names replaced. Fails `unknown-iname` for a name that is neither one of them nor
/// one of the kernel's.
Expr with_present_inames(const Kernel& k, const Expr& e, const Span& at);

}  // namespace moonloop
