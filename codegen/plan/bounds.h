#pragma once
#include <optional>

#include "codegen/plan/ast.h"
#include "core/sets/isl.h"

namespace moonloop {

struct PlainLoop {
  Loop loop;                      // without a body
  std::optional<Expr> condition;  // on outer inames and parameters, to be checked before the loop
};

/// The loop over `range`, a convex set { [iname] } over outer inames as parameters, read off its
/// constraints; `context` holds what is known about the parameters. Nothing when it needs more than
/// bounds (strides, a single value): then isl's AST builder does it, at ten times the cost.
std::optional<PlainLoop> plain_loop(const Set& range, const Set& context, const std::string& iname);

/// `<=` bounds as `<` where that reads better, and truncating division where it gives the same.
void polish_bounds(Loop& loop);

}  // namespace moonloop
