#include <algorithm>
#include <bit>

#include "codegen/plan/alignment.h"
#include "codegen/print/c_printer.h"
#include "core/model/layout.h"

// `vec` loops on processors: a statement for as many lanes at once as a register has, in the
// vectors that GCC and Clang add to C. What has no form in these stays a loop that compilers make
// vectors of.
namespace moonloop {
namespace {

constexpr std::int64_t kMostBytes = 64, kLeastBytes = 16;  // of the registers of processors

/// A statement in a loop over lanes.
struct Lanes {
  const std::string& iname;
  std::set<std::string> names;  // that have a value for each lane
  Type type;                    // of all that it computes

  bool varies(const Expr& e) const {
    bool out = false;
    walk(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      out = out || (v && names.contains(v->name)) || (l && names.contains(l->array));
      return !out;
    });
    return out;
  }
};

/// Neighbouring lanes have neighbouring elements of `e`, a place.
bool is_row(const Plan& plan, int insn, const Expr& e, const Lanes& x) {
  const std::string name = written_name(e);
  if (e.as<Var>()) {
    const auto copies = plan.expansions.find(name);
    if (copies == plan.expansions.end()) return false;
    const Exprs& at = copies->second.index.at(insn);
    return step_along(at.back(), x.iname) == 1 &&
           std::none_of(at.begin(), at.end() - 1, [&](const Expr& i) { return x.varies(i); });
  }
  const auto* l = e.as<Load>();
  if (!l || x.names.contains(name)) return false;
  const Argument* a = plan.kernel.find_arg(name);
  const Temporary* t = plan.kernel.find_temporary(name);
  if (!a && !t) return false;
  const Exprs shape = (a ? a->shape : t->shape).value_or(Exprs{});
  const Exprs strides = l->linear ? Exprs{lit(1)}
                        : a       ? strides_of(shape, a->order, a->strides)
                                  : strides_of(shape, t->order, t->strides);
  bool along = false;
  for (std::size_t i = 0; i < l->index.size(); ++i) {
    if (!x.varies(l->index[i])) continue;
    const bool plain = std::none_of(x.names.begin(), x.names.end(), [&](const std::string& n) {
      std::set<std::string> used;
      collect_vars(l->index[i], used), collect_reads(l->index[i], used);
      return n != x.iname && used.contains(n);
    });
    if (along || !plain || as_int(strides.at(i)) != 1 || step_along(l->index[i], x.iname) != 1)
      return false;
    along = true;
  }
  return along;
}

/// Whether `e` has a form in vectors; notes the places that are loaded.
bool has_form(const Plan& plan, CExpr& types, int insn, const Expr& e, const Lanes& x,
              Exprs& loaded) {
  const bool literal = e.as<IntLit>() || e.as<FloatLit>();
  if (literal) return true;
  if (!(types.type(e, x.type) == x.type)) return false;
  if (!x.varies(e)) return true;
  const auto has = [&](const Expr& part) { return has_form(plan, types, insn, part, x, loaded); };
  if (e.as<Var>() || e.as<Load>()) {
    if (!is_row(plan, insn, e, x)) return false;
    if (!holds_term(loaded, e)) loaded.push_back(e);
    return true;
  }
  if (const auto* n = e.as<Nary>())
    return (n->op == NaryOp::Add || n->op == NaryOp::Mul) &&
           std::all_of(n->terms.begin(), n->terms.end(), has);
  if (const auto* b = e.as<Binary>())
    return b->op == BinaryOp::Div && has(b->left) && has(b->right);
  const auto* u = e.as<Unary>();
  return u && (u->op == UnaryOp::Sub || u->op == UnaryOp::Neg) && has(u->arg);
}

}  // namespace

/// The `vec` loop in vectors, where its only statement has a form in them: plain values or sums of
/// one type of real numbers, made by + - * / of elements that follow each other along the loop and
/// of values that all lanes have in common; for a number of lanes that fills registers of 16, 32 or
/// 64 bytes. Else prints nothing.
bool CPrinter::vectors(const Loop& x) {
  const InameTag* tag = k_.tag(x.iname);
  if (!tag || tag->kind != TagKind::Vec || helpers_.language() != Language::C || checks_)
    return false;
  const auto first = as_int(x.lower), end = as_int(x.upper);
  if (!first || !end || x.inclusive || x.step != 1 || x.only_while || x.body.size() != 1)
    return false;
  const auto* run = std::get_if<Run>(&x.body[0].op);
  if (!run || !run->declares.empty()) return false;
  const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run->insn)];
  const bool sums = insn.reduce_op == ReduceOp::Sum || insn.reduce_op == ReduceOp::Product;
  const bool clears = insn.role == ReductionRole::Init;
  if (insn.lhs.size() != 1 || !(insn.rhs || clears) || insn.atomic != Atomicity::None ||
      (insn.role != ReductionRole::None && !sums))
    return false;

  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : run->values) values.emplace(iname, without_truncation(e));
  Lanes lanes{x.iname, {x.iname}, expr_.type(insn.lhs[0])};
  if (lanes.type.is_record() || !is_real(lanes.type.scalar) || size_of(lanes.type.scalar) < 4)
    return false;
  for (const auto& [name, copies] : plan_.expansions)
    if (const auto at = copies.index.find(run->insn); at != copies.index.end())
      if (std::any_of(at->second.begin(), at->second.end(),
                      [&](const Expr& i) { return lanes.varies(i); }))
        lanes.names.insert(name);
  const std::int64_t size = size_of(lanes.type.scalar), length = (*end - *first) * size;
  const std::int64_t bytes = std::min(kMostBytes, length & -length);
  if (*end <= *first || bytes < kLeastBytes) return false;

  const Expr to = expr_.with_values(insn.lhs[0], values);
  const Expr rhs = clears ? Expr() : expr_.with_values(insn.rhs, values);
  Exprs loaded;
  if (!is_row(plan_, run->insn, to, lanes)) return false;
  if (!clears && !has_form(plan_, expr_, run->insn, rhs, lanes, loaded)) return false;

  expr_.set_instruction(run->insn, values);
  expr_.within_domains(true);
  const std::string type = helpers_.vector(lanes.type.scalar, bytes);
  const auto at = [&](const Expr& place, const char* qualifier) {
    return "*(" + type + qualifier + " *)&" + expr_.place(place);
  };
  std::vector<std::string> texts;
  for (const Expr& e : loaded) {
    const std::string text = at(e, equal(e, to) ? "" : " const");
    const bool alone = equal(e, rhs) || (equal(e, to) && compound(to, rhs));
    texts.push_back(alone ? text : "(" + text + ")");
  }
  const std::string stored = at(to, "");
  const std::size_t kept = expr_.stand_ins();
  if (!holds_term(loaded, to)) expr_.stand_in(to, stored, true);
  for (std::size_t i = 0; i < loaded.size(); ++i)
    expr_.stand_in(loaded[i], texts[i], equal(loaded[i], to));
  expr_.within_domains(false);
  const bool varies = !clears && lanes.varies(rhs);
  splat_ = varies ? "" : "(" + type + "){0}";

  expr_.runs_from(x.iname, x.lower);
  const std::string& i = names_.of(x.iname);
  auto around = expr_.set_changing(std::set<std::string>{x.iname, written_name(to)});
  ++loops_around_;
  body(x.body, "for (" + index_type({x.lower, x.upper}) + " " + i + " = " + expr_.index(x.lower) +
                   "; " + i + " < " + expr_.index(x.upper) + "; " + i +
                   " += " + helpers_.lanes_of(lanes.type.scalar, bytes) + ")");
  --loops_around_;
  expr_.set_changing(std::move(around));
  splat_.clear();
  expr_.end_stand_ins(kept);
  return true;
}

}  // namespace moonloop
