#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Whether the type of `e` may depend on the context, as that of literals does: it holds a real
/// literal, a function or an operator that makes integers real, or no variable at all. Rules that
/// it calls are looked into. Syntactic: "yes" may be wrong, "no" is not.
bool may_adapt(const Kernel& k, const Expr& e);

}  // namespace moonloop
