#pragma once
#include "codegen/plan/ast.h"
#include "codegen/print/c_expr.h"

namespace moonloop {

/// Largest temporary on the stack, in bytes.
inline constexpr std::int64_t kMaxStack = 64 * 1024;

/// Whether `lhs... = make_tuple(...)` may assign one after the other: no value needs the result of
/// an earlier assignment.
bool assigns_in_turn(const Exprs& lhs, const Expr& rhs);

bool on_heap(const CExpr& expr, const Temporary& t);

/// Moves each Declare down to the first statement that needs it; a scalar's joins the statement
/// that writes it. Adds a Release where memory was taken from the heap. Linear in the program.
void settle_declarations(Block& block, const Plan& plan, const CExpr& expr);

}  // namespace moonloop
