#include "core/count/evaluations.h"

#include <algorithm>

#include "core/count/count_set.h"
#include "core/infer/infer.h"
#include "core/infer/reductions.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/order/check_kernel.h"
#include "core/order/inline_calls.h"

namespace moonloop {

namespace {

Kernel realized(const Kernel& k) {
  Kernel out = realize_reductions(inline_all_calls(complete(k)));
  const bool typed = std::all_of(out.temporaries.begin(), out.temporaries.end(),
                                 [](const auto& t) { return t.second.type.has_value(); });
  return typed ? out : infer_types(std::move(out));  // accumulators
}

}  // namespace

Evaluations::Evaluations(const Kernel& k)
    : kernel_(realized(k)), typer_(kernel_), program_points_(kernel_) {}

void Evaluations::for_each(const std::function<void(const Evaluation&)>& visit) {
  visit_ = &visit;
  for (const InsnPtr& i : kernel_.instructions) {
    insn_ = i.get();
    statement(*i);
  }
  visit_ = nullptr;
}

void Evaluations::report(Evaluation::Kind kind, const Expr& e, Frame& frame,
                         const std::optional<Type>& wanted) {
  (*visit_)({kind, insn_, e, wanted, program_points_.number(frame), aside_});
}

void Evaluations::visit_aside(const Exprs& all, Frame& frame) {
  const bool before = std::exchange(aside_, true);
  for (const Expr& e : all) visit(e, frame, {});
  aside_ = before;
}

void Evaluations::statement(const Instruction& insn) {
  Frame frame{{insn.inames.begin(), insn.inames.end()}, {}, -1};
  for (const Expr& p : insn.predicates) {
    if (insn.role == ReductionRole::None) visit_aside({p}, frame);
    frame = frame.under(p, true);
  }
  Frame stored = frame;
  if (insn.role == ReductionRole::Update) {
    for (const Expr& acc : insn.lhs) report(Evaluation::Update, acc, frame, {});
    // Once it is decided, no value is looked at any more.
    if (insn.reduce_op == ReduceOp::Any || insn.reduce_op == ReduceOp::All)
      frame = frame.under(insn.lhs[0], insn.reduce_op == ReduceOp::All);
  }
  if (external_call(kernel_, insn)) return;
  const bool several = insn.lhs.size() > 1;
  if (insn.rhs && several) {  // `a, b = make_tuple(x, y)`, and updates of two accumulators
    const Exprs& values = insn.rhs.as<Call>()->args;
    for (std::size_t i = 0; i < values.size(); ++i)
      visit(values[i], frame, typer_.type(insn.lhs[i])->type);
  } else if (insn.rhs) {
    const auto target = insn.lhs.size() == 1 ? typer_.type(insn.lhs[0]) : std::nullopt;
    visit(insn.rhs, frame, target ? std::optional(target->type) : std::nullopt);
  }
  for (const Expr& target : insn.lhs) written(target, stored);
}

const Expr& innermost(const Expr& e) {
  const auto* f = e.as<Field>();
  return f ? innermost(f->base) : e;
}

void Evaluations::written(const Expr& target, Frame& frame) {
  if (const auto* l = innermost(target).as<Load>()) visit_aside(l->index, frame);
  report(Evaluation::Write, target, frame, {});
}

void Evaluations::visit(const Expr& e, Frame& f, const std::optional<Type>& wanted) {
  const auto all = [&](const Exprs& es, const std::optional<Type>& as) {
    for (const Expr& x : es) visit(x, f, as);
  };
  const auto own = [&]() -> std::optional<Type> {
    const auto t = typer_.type(e, wanted);
    return t ? std::optional(t->type) : std::nullopt;
  };
  const auto choice = [&](const Expr& cond, const Expr& yes, const Expr& no) {
    const auto type = own();
    visit(cond, f, {});
    Frame if_yes = f.under(cond, true), if_no = f.under(cond, false);
    visit(yes, if_yes, type);
    visit(no, if_no, type);
  };
  e.visit(overload{
      [](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {}, [](const BoolLit&) {},
      [](const Var&) {}, [&](const Load& x) { visit_aside(x.index, f); },
      [&](const Field& x) {  // a field of a value in memory is one access
        const Expr& base = innermost(e);
        if (const auto* l = base.as<Load>())
          visit_aside(l->index, f);
        else if (!base.as<Var>())
          visit(x.base, f, {});
      },
      [&](const Unary& x) {
        const bool term = x.op == UnaryOp::Sub;  // as the sum evaluates it
        visit(x.arg, f, x.op == UnaryOp::Not ? std::nullopt : term ? wanted : own());
      },
      [&](const Binary& x) {
        const bool shift = x.op == BinaryOp::Shl || x.op == BinaryOp::Shr;
        visit(x.left, f, own());
        visit(x.right, f, shift ? std::nullopt : own());
      },
      [&](const Nary& x) {
        if (x.op != NaryOp::And && x.op != NaryOp::Or) return all(x.terms, own());
        Frame rest = f;  // each term is looked at only when those before did not decide
        for (const Expr& t : x.terms) {
          visit(t, rest, {});
          rest = rest.under(t, x.op == NaryOp::And);
        }
      },
      [&](const Compare& x) {
        const auto sides = typer_.computation(e);
        visit(x.left, f, sides ? std::optional(sides->operands[0]) : std::nullopt);
        visit(x.right, f, sides ? std::optional(sides->operands[1]) : std::nullopt);
      },
      [&](const Select& x) { choice(x.cond, x.yes, x.no); },
      [&](const Call& x) {
        if (x.name == "if" && x.args.size() == 3) return choice(x.args[0], x.args[1], x.args[2]);
        if (x.name == "indexof") {  // only the address
          if (const auto* l = x.args[0].as<Load>()) visit_aside(l->index, f);
          return;
        }
        const auto c = typer_.computation(e, wanted);
        for (std::size_t i = 0; i < x.args.size(); ++i) {
          const bool converts = c && i < c->operands.size();
          visit(x.args[i], f, converts ? std::optional(c->operands[i]) : std::nullopt);
        }
      },
      [](const Reduce&) { throw InternalError("evaluations: a reduction is left"); },
      [&](const Cast& x) { visit(x.arg, f, x.type); },
      [](const Slice&) {},  // an argument of an external function
      [](const SubArray&) {}});
  report(Evaluation::Value, e, f, wanted);
}

void Evaluations::require_known(const Evaluation& e) {
  const std::vector<std::string> computed = program_points_.temporaries_in(points(e));
  if (computed.empty()) return;
  fail("data-dependent-count", e.insn->at,
       "how often `{}` runs depends on `{}`, which the kernel computes", e.insn->id,
       computed.front());
}

const Count& Evaluations::instances(const Evaluation& e, std::optional<std::int64_t> per_subgroup) {
  const auto [it, is_new] = counts_.try_emplace({e.point, per_subgroup.value_or(0)});
  if (!is_new) return it->second;
  try {
    require_known(e);
    const Set& s = points(e);
    Count n = per_subgroup
                  ? subgroups(e, s, *per_subgroup)
                  : Count(count_set(s, "the instances of `" + e.insn->id + "`", e.insn->at));
    if (kernel_.assumptions) n = n.under(kernel_.assumptions);
    return it->second = program_points_.exact(e.point) ? n : n.as_bound();
  } catch (...) {
    counts_.erase(it);
    throw;
  }
}

Count Evaluations::subgroups(const Evaluation& e, const Set& points, std::int64_t size) const {
  std::vector<std::string> others;
  std::int64_t items = 1;
  for (const std::string& i : program_points_.inames(e.point)) {
    const InameTag* tag = kernel_.tag(i);
    if (!tag || tag->kind != TagKind::Local) {
      others.push_back(i);
      continue;
    }
    Set values = to_dims(domain_of(kernel_, {i}), {i});
    values = drop_params(values, param_names(values));
    const Val low = isl_set_dim_min_val(values.copy(), 0),
              high = isl_set_dim_max_val(values.take(), 0);
    if (!yes(isl_val_is_int(low.get())) || !yes(isl_val_is_int(high.get())))
      fail("unbounded-count", e.insn->at, "the work-items along `{}` are not a fixed number", i);
    items *= to_int(high) - to_int(low) + 1;
  }
  const Count groups(
      count_set(to_dims(points, others), "the instances of `" + e.insn->id + "`", e.insn->at));
  return groups.times((items + size - 1) / size);
}

}  // namespace moonloop
