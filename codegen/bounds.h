#pragma once
#include <optional>

#include "codegen/ast.h"
#include "core/isl.h"

namespace moonloop {

/// The loop over `range`, a convex set { [iname] } over outer inames as parameters, read off its
/// constraints; `context` is what is known of the parameters. Nothing when it takes more than
/// bounds (strides, conditions on outer inames, a single value): then isl's AST builder does it, at
/// ten times the cost.
std::optional<Loop> plain_loop(const Set& range, const Set& context, const std::string& iname);

/// `<=` bounds as `<` where that reads better, and truncating division where it gives the same.
void polish_bounds(Loop& loop);

}  // namespace moonloop
