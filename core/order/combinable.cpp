#include "core/order/combinable.h"

#include <optional>

#include "core/infer/infer.h"

namespace moonloop {
namespace {

using CombinedBy = CombinableUpdate::Operation;

std::optional<CombinedBy> combined_by(const Expr& e) {
  if (const auto* c = e.as<Call>()) {
    if (c->name == "min") return CombinedBy::Min;
    if (c->name == "max") return CombinedBy::Max;
    return {};
  }
  const auto* n = e.as<Nary>();
  if (!n) return {};
  switch (n->op) {
    case NaryOp::Add: return CombinedBy::Add;
    case NaryOp::Mul: return CombinedBy::Mul;
    case NaryOp::BitAnd: return CombinedBy::BitAnd;
    case NaryOp::BitOr: return CombinedBy::BitOr;
    case NaryOp::BitXor: return CombinedBy::BitXor;
    default: return {};
  }
}

}  // namespace

CombinableUpdate combinable_update(const Kernel& k, const Instruction& insn,
                                   CommutingUpdates& updates) {
  const std::string name = insn.lhs.empty() ? "" : written_name(insn.lhs[0]);
  if (insn.atomic != Atomicity::Update || insn.lhs.empty() ||
      updates.operation_of(insn, name).empty())
    refuse("not-an-update", insn.at,
           "`{}` is not an atomic update that commutes with itself by one operation, such as "
           "`a[f(i)] = a[f(i)] + x`",
           insn.id);
  const Type t = insn.lhs.size() == 1 ? type_of(k, insn.lhs[0]) : Type();
  const auto op = combined_by(insn.rhs);
  if (insn.lhs.size() == 1 && op && !t.is_record() && !is_complex(t.scalar) &&
      (size_of(t.scalar) == 4 || size_of(t.scalar) == 8)) {
    const auto* n = insn.rhs.as<Nary>();
    const Exprs& terms = n ? n->terms : insn.rhs.as<Call>()->args;
    for (const std::size_t i : {0, 1})
      if (terms.size() == 2 && equal(terms[i], insn.lhs[0])) return {*op, terms[1 - i]};
  }
  refuse(
      "not-combinable", insn.at,
      "what `{}` does to `{}` is not combined: that needs a sum, product, `min`, `max`, `&`, `|` "
      "or `^` of `{}` and one other operand, of 4 or 8 bytes",
      insn.id, name, name);
}

}  // namespace moonloop
