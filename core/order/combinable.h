#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/order/commuting.h"

namespace moonloop {

/// An update `place = place op term` of which several can be made one: their terms are combined by
/// the operation first.
struct CombinableUpdate {
  enum class Operation { Add, Mul, Min, Max, BitAnd, BitOr, BitXor } operation;
  Expr term;  // does not read the place; `-x` where x is subtracted
};

/// The update that `insn` of a kernel with known types is, where instances that run together may
/// combine what they do to one element (`Instruction::combined`). `updates` is of that kernel.
///
/// Refuses  not-an-update   it does not commute with itself, by one operation
///          not-combinable  it has not two operands of which one is the place, or its values do not
///                          have 4 or 8 bytes
CombinableUpdate combinable_update(const Kernel& k, const Instruction& insn,
                                   CommutingUpdates& updates);

}  // namespace moonloop
