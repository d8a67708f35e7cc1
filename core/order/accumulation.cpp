#include "core/order/accumulation.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/order/commuting.h"

namespace moonloop {

std::optional<ReduceOp> accumulating_op(const Expr& e) {
  if (const Nary* n = e.as<Nary>()) {
    switch (n->op) {
      case NaryOp::Add: return ReduceOp::Sum;
      case NaryOp::Mul: return ReduceOp::Product;
      case NaryOp::Or: return ReduceOp::Any;
      case NaryOp::And: return ReduceOp::All;
      case NaryOp::BitAnd:
      case NaryOp::BitOr:
      case NaryOp::BitXor: return std::nullopt;
    }
  }
  if (const Call* c = e.as<Call>()) {
    if (c->name == "min" || c->name == "fmin") return ReduceOp::Min;
    if (c->name == "max" || c->name == "fmax") return ReduceOp::Max;
  }
  return std::nullopt;
}

namespace {

const Exprs& terms_of(const Expr& e) {
  if (const Nary* n = e.as<Nary>()) return n->terms;
  return e.as<Call>()->args;
}

}  // namespace

Expr with_operands(const Expr& e, Exprs operands) {
  if (operands.size() == 1) return operands.front();
  if (const Nary* n = e.as<Nary>()) return Expr(Nary{n->op, std::move(operands)}, e.at());
  Call c = *e.as<Call>();
  c.args = std::move(operands);
  return Expr(std::move(c), e.at());
}

bool stands_in(const Expr& part, const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    found = found || equal(x, part);
    return !found;
  });
  return found;
}

namespace {

/// The value that is taken where `test` holds, instead of the target: `a < v` takes the least.
std::optional<ReduceOp> extreme(const Expr& test, const Expr& target, const Expr& value) {
  const Compare* c = test.as<Compare>();
  if (!c) return std::nullopt;
  const bool forth = equal(c->left, value) && equal(c->right, target);
  const bool back = equal(c->left, target) && equal(c->right, value);
  if (!forth && !back) return std::nullopt;
  switch (c->op) {
    case CompareOp::Lt:
    case CompareOp::Le: return forth ? ReduceOp::Min : ReduceOp::Max;
    case CompareOp::Gt:
    case CompareOp::Ge: return forth ? ReduceOp::Max : ReduceOp::Min;
    case CompareOp::Eq:
    case CompareOp::Ne: return std::nullopt;
  }
  throw InternalError("a comparison without a name");
}

/// `if a < v: v = a` and `v = a if a < v else v`.
std::optional<Accumulation> picked(const Instruction& insn) {
  const Expr& target = insn.lhs[0];
  if (stands_in(target, insn.rhs)) {
    const Select* s = insn.rhs.as<Select>();
    if (!s) return std::nullopt;
    const bool keeps = equal(s->no, target);
    const Expr& value = keeps ? s->yes : s->no;
    if (stands_in(target, value) || !(keeps || equal(s->yes, target))) return std::nullopt;
    auto op = extreme(s->cond, target, value);
    if (!op) return std::nullopt;
    if (!keeps) op = *op == ReduceOp::Min ? ReduceOp::Max : ReduceOp::Min;
    return Accumulation{*op, value, {}};
  }
  for (std::size_t p = 0; p < insn.predicates.size(); ++p)
    if (const auto op = extreme(insn.predicates[p], target, insn.rhs))
      return Accumulation{*op, insn.rhs, p};
  return std::nullopt;
}

}  // namespace

std::optional<Accumulation> accumulation(const Instruction& insn) {
  if (insn.kind != InsnKind::Assign || insn.lhs.size() != 1 || !insn.rhs) return std::nullopt;
  if (const auto p = picked(insn)) return p;
  const auto op = accumulating_op(insn.rhs);
  if (!op) return std::nullopt;
  Exprs rest;
  int seen = 0;
  for (const Expr& t : terms_of(insn.rhs)) {
    if (equal(t, insn.lhs[0]))
      ++seen;
    else
      rest.push_back(t);
  }
  if (seen != 1 || rest.empty()) return std::nullopt;
  return Accumulation{*op, with_operands(insn.rhs, std::move(rest)), {}};
}

namespace {

/// Other elements of the accumulator's array, as in `x[i] = x[i] - l[i, j]*x[j]`, are those of an
/// array of its own here: the order decides whether they are the accumulator's after all.
void set_apart_other_elements(Kernel& k, Instruction& insn) {
  const std::string name = written_name(insn.lhs[0]);
  Expr own = insn.lhs[0];
  while (const auto* f = own.as<Field>()) own = f->base;
  const auto is_other = [&](const Expr& x) {
    const auto* l = x.as<Load>();
    return l && l->array == name && !equal(x, own);
  };
  bool any = false;
  walk(insn.rhs, [&](const Expr& x) {
    any = any || is_other(x);
    return !any;
  });
  if (!any) return;
  const std::string twin = k.fresh_name(name);
  if (const Temporary* t = k.find_temporary(name)) {
    Temporary copy = *t;
    copy.name = twin;
    k.temporaries.emplace(twin, std::move(copy));
  } else {
    Argument copy = *k.find_arg(name);
    copy.name = twin;
    k.args.push_back(std::move(copy));
  }
  insn.rhs = rewrite(insn.rhs, [&](const Expr& x) {
    if (!is_other(x)) return x;
    Load copy = *x.as<Load>();
    copy.array = twin;
    return Expr(std::move(copy), x.at());
  });
}

}  // namespace

AccumulationTypes types_of(Kernel typed, const std::string& id, const Accumulation& a) {
  const auto at = std::find_if(typed.instructions.begin(), typed.instructions.end(),
                               [&](const InsnPtr& i) { return i->id == id; });
  Instruction alone = **at;
  alone.predicates.clear();  // they say whether there is a term, or are the choice below
  if (a.test)
    alone.rhs = Expr(Select{(*at)->predicates[*a.test], alone.rhs, alone.lhs[0]}, alone.rhs.at());
  set_apart_other_elements(typed, alone);
  AccumulationTypes out;
  out.held = type_of(typed, alone.lhs[0]);
  out.term = type_of(typed, alone.rhs, out.held);
  out.logical = a.op == ReduceOp::Any || a.op == ReduceOp::All;
  out.truth = !out.held.is_record() && out.held.scalar == Scalar::Bool;
  out.any_order = CommutingUpdates(typed).in_any_order(alone, written_name(alone.lhs[0])) &&
                  (out.truth || !out.logical);
  return out;
}

}  // namespace moonloop
