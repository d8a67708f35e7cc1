#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "core/model/kernel.h"

/// Statements that accumulate, `v = v + e`: what recognize_reduction makes reductions of, and what
/// a loop may be left with that is parallel but for these.
namespace moonloop {

/// `target = target op addend`.
struct Accumulation {
  ReduceOp op;
  Expr addend;
  std::optional<std::size_t> test;  // of the predicates, the one that compares the two
};

/// Of `v = v + e`, `v = v*e`, `v = min(v, e)`, `v = max(v, e)`, `v = v or e`, `v = v and e`, and of
/// `v = e` under the condition `e < v` or `e > v`; nothing for other statements.
std::optional<Accumulation> accumulation(const Instruction& insn);

/// The reduction whose step the operation on top of `e` is.
std::optional<ReduceOp> accumulating_op(const Expr& e);
/// `e`, such an operation, with the operands `operands` in place of its own.
Expr with_operands(const Expr& e, Exprs operands);
/// Whether `part` occurs in `e`.
bool stands_in(const Expr& part, const Expr& e);

/// The effect of the accumulator's type on each value must not depend on the order: int32 cuts a
/// sum of float64 terms in each step, int8 turns a largest value of int32 into another one.
struct AccumulationTypes {
  Type held, term;       // of the accumulator, and of what is put into it
  bool logical = false;  // any or all
  bool truth = false;    // `held` is bool
  bool any_order = false;
};
/// Of the accumulation with this id in `typed`, which has no rules and whose types are inferred.
AccumulationTypes types_of(Kernel typed, const std::string& id, const Accumulation& a);

}  // namespace moonloop
