#pragma once
#include "core/expr/expr.h"
#include "core/expr/type.h"

/// The steps of reductions on two values, as expressions of the kernel language. Each function
/// takes and returns one expression for each value of the operation: one, or value and index
/// (flag).
namespace moonloop {

/// The least or greatest value of a type, infinite for real types.
Expr extreme_value(const Type& t, bool least);

/// The result of a reduction over nothing, for values of these types.
Exprs neutral_values(ReduceOp op, const std::vector<Type>& types);

/// The values of the terms of `earlier`, then those of `later`, as one; `types` are those of the
/// values.
Exprs combined(ReduceOp op, const Exprs& earlier, const Exprs& later,
               const std::vector<Type>& types);

}  // namespace moonloop
