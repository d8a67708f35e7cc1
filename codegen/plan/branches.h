#pragma once
#include <functional>

#include "codegen/plan/ast.h"

namespace moonloop {

/// Conditions as a person writes them. A statement under what the one before it was not under is
/// its `else`; what is known to hold is not asked again; a loop that a flag ends is left where the
/// flag is set, and a flag that nothing asks any more is dropped, but where `keep_flags`, because
/// something else reads it. `integer` says whether an expression has an integer type, in which
/// `not (a < b)` is `a >= b`. Runs after declarations are settled; near-linear in the statements.
void join_branches(Block& block, const Kernel& k, const std::function<bool(const Expr&)>& integer,
                   bool keep_flags);

}  // namespace moonloop
