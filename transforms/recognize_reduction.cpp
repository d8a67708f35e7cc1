#include "transforms/recognize_reduction.h"

#include <algorithm>

#include "core/infer.h"
#include "core/lookup.h"
#include "core/reduction_steps.h"
#include "core/staging.h"
#include "core/typing.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// `target = target op addend`.
struct Accumulation {
  ReduceOp op;
  Expr addend;
};

std::optional<ReduceOp> op_of(const Expr& e) {
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

/// `e` with the operands `operands` in place of its own.
Expr with_operands(const Expr& e, Exprs operands) {
  if (operands.size() == 1) return operands.front();
  if (const Nary* n = e.as<Nary>()) return Expr(Nary{n->op, std::move(operands)}, e.at());
  Call c = *e.as<Call>();
  c.args = std::move(operands);
  return Expr(std::move(c), e.at());
}

const Exprs& operands_of(const Expr& e) {
  if (const Nary* n = e.as<Nary>()) return n->terms;
  return e.as<Call>()->args;
}

std::optional<Accumulation> accumulation(const Instruction& insn) {
  if (insn.kind != InsnKind::Assign || insn.lhs.size() != 1 || !insn.rhs) return std::nullopt;
  const auto op = op_of(insn.rhs);
  if (!op) return std::nullopt;
  Exprs rest;
  int seen = 0;
  for (const Expr& t : operands_of(insn.rhs)) {
    if (equal(t, insn.lhs[0]))
      ++seen;
    else
      rest.push_back(t);
  }
  if (seen != 1 || rest.empty()) return std::nullopt;
  return Accumulation{*op, with_operands(insn.rhs, std::move(rest))};
}

bool is_neutral(ReduceOp op, const Expr& e) {
  if (const BoolLit* b = e.as<BoolLit>())
    return (op == ReduceOp::Any && !b->value) || (op == ReduceOp::All && b->value);
  const double wanted = op == ReduceOp::Product ? 1 : 0;
  if (op != ReduceOp::Sum && op != ReduceOp::Product) return false;
  if (const FloatLit* f = e.as<FloatLit>()) return f->value == wanted;
  const auto i = as_int(e);
  return i && static_cast<double>(*i) == wanted;
}

class Recognizer {
 public:
  Recognizer(const Kernel& k, const std::vector<std::string>& inames) : inames_(inames) {
    std::set<std::string> seen;
    for (const std::string& i : inames) {
      require_iname(k, i);
      if (!seen.insert(i).second)
        refuse("twice", k.at, "`{}` stands twice in the list of inames", i);
    }
    if (inames.empty()) refuse("no-inames", k.at, "no iname is given to reduce over");
  }

  std::vector<std::string> find(const Kernel& k, const Match& within) const {
    std::vector<std::string> ids;
    const InsnPtr* other = nullptr;
    for (const std::size_t n : some_matching(k, within, "no instruction matches `within`")) {
      const Instruction& insn = *k.instructions[n];
      const bool inside = std::all_of(inames_.begin(), inames_.end(),
                                      [&](const auto& i) { return insn.inames.contains(i); });
      if (!inside) continue;
      if (accumulation(insn))
        ids.push_back(insn.id);
      else if (!other)
        other = &k.instructions[n];
    }
    if (other && (ids.empty() || !within.everything()))
      refuse(
          "not-accumulation", (*other)->at,
          "instruction `{}` does not accumulate: it has not the form `v = v + e`, with `+`, `*`, "
          "`min`, `max`, `or` or `and`",
          (*other)->id);
    if (ids.empty())
      refuse("no-match", k.at, "no selected instruction stands in the loops over {}",
             quoted_list(inames_));
    return ids;
  }

  Kernel recognize(const Kernel& k, const std::string& id) const {
    const std::size_t n = index_of(k, id);
    const Instruction& insn = *k.instructions[n];
    const Accumulation a = *accumulation(insn);
    std::set<std::string> vars;
    collect_vars(insn.lhs[0], vars);
    for (const std::string& i : inames_)
      if (vars.contains(i))
        refuse("carried-target", insn.at,
               "`{}` writes another element in each iteration of `{}`: `{}`", id, i,
               to_string(insn.lhs[0]));
    Instruction changed = insn;
    for (const std::string& i : inames_) changed.inames.erase(i);
    Expr addend = widened(k, insn.lhs[0], a.addend);
    changed.predicates.clear();
    Exprs conditions;
    for (const Expr& p : insn.predicates)
      (varies(k, p) ? conditions : changed.predicates).push_back(p);
    if (!conditions.empty()) {
      if (a.op == ReduceOp::Min || a.op == ReduceOp::Max)
        refuse("conditional-accumulation", insn.at,
               "`{}` takes a {} under the condition `{}`, which has no neutral value", id,
               to_string(a.op), to_string(conditions.front()));
      addend = Expr(Select{conjunction(conditions), addend, neutral_values(a.op, {}).front()},
                    addend.at());
    }
    const Expr reduced(Reduce{a.op, inames_, {addend}, false}, a.addend.at());
    changed.rhs = with_operands(insn.rhs, {insn.lhs[0], reduced});
    Kernel out = k;
    out.instructions[n] = std::make_shared<const Instruction>(changed);
    return take_in_init(staged(k, rebase(out), stand_ins(k, insn, changed, addend)), n, reduced);
  }

 private:
  static std::size_t index_of(const Kernel& k, const std::string& id) {
    for (std::size_t n = 0; n < k.instructions.size(); ++n)
      if (k.instructions[n]->id == id) return n;
    throw InternalError("recognize_reduction lost an instruction");
  }

  /// Whether a condition can differ between iterations of the loops.
  bool varies(const Kernel& k, const Expr& p) const {
    std::set<std::string> vars;
    const Expr e = expand_rules(k, p);
    collect_vars(e, vars);
    collect_reads(e, vars);
    return std::any_of(vars.begin(), vars.end(), [&](const std::string& v) {
      if (std::find(inames_.begin(), inames_.end(), v) != inames_.end()) return true;
      const Argument* a = k.find_arg(v);
      return k.find_temporary(v) || (a && a->is_array);
    });
  }

  /// The addend in the accumulator's type, when it is converted to that in each step anyway.
  static Expr widened(const Kernel& k, const Expr& target, const Expr& addend) {
    Kernel typed = k;
    try {
      typed = infer_types(k);
    } catch (const Error&) {  // some types are not known yet; they are found when all are there
    }
    const Expr value = expand_rules(typed, addend);
    const auto t = Typer(typed).type(target);
    if (!t || t->type.is_record()) return addend;
    const auto e = Typer(typed).type(value, t->type);
    if (!e || e->type.is_record() || e->type == t->type) return addend;
    const Typed both = combine({*t, *e}, t->type);
    return both.type == t->type ? Expr(Cast{t->type, addend}, addend.at()) : addend;
  }

  /// The one assignment stands for all accumulations of its iterations; the addends stay theirs.
  std::vector<StandIn> stand_ins(const Kernel& k, const Instruction& insn,
                                 const Instruction& changed, const Expr& addend) const {
    const Place place = place_of(insn);
    const auto relation = [&](const std::set<std::string>& stage) {
      return stage_relation(k, stage, {stage.begin(), stage.end()}, place, {});
    };
    Kernel plain = k;
    plain.rules.clear();
    const auto accesses = [&](const Exprs& lhs, const Expr& rhs, const Exprs& predicates) {
      Instruction i = insn;
      i.lhs = lhs;
      i.rhs = expand_rules(k, rhs);
      i.predicates.clear();
      for (Expr& e : i.lhs) e = expand_rules(k, e);
      for (const Expr& p : predicates) i.predicates.push_back(expand_rules(k, p));
      return accesses_of(i, plain);
    };
    std::vector<Access> addends;
    for (Access& x : accesses(insn.lhs, addend, {}))
      if (!x.write) addends.push_back(std::move(x));
    return {{insn.id, insn.id, relation(changed.inames),
             accesses(insn.lhs, insn.lhs[0], changed.predicates)},
            {insn.id, insn.id, relation(insn.inames), std::move(addends)}};
  }

  /// `c = v` before `c = c + sum(…)` in the same loops: `c = v + sum(…)`, if that can be proved.
  static Kernel take_in_init(Kernel k, std::size_t n, const Expr& reduced) {
    const Instruction& insn = *k.instructions[n];
    const std::string& target = written_name(insn.lhs[0]);
    std::size_t m = n;
    while (m-- > 0)
      if (writes(*k.instructions[m]).contains(target)) break;
    if (m >= n) return k;
    const Instruction& init = *k.instructions[m];
    if (init.kind != InsnKind::Assign || init.lhs.size() != 1 || !equal(init.lhs[0], insn.lhs[0]) ||
        init.inames != insn.inames || !init.predicates.empty() || !insn.predicates.empty() ||
        init.atomic != Atomicity::None || insn.atomic != Atomicity::None)
      return k;
    // What the initial value reads must be the same later.
    const std::set<std::string> needed = reads(k, init);
    for (const InsnPtr& i : k.instructions) {
      for (const std::string& w : writes(*i))
        if (needed.contains(w)) return k;
      if (i->id != insn.id &&
          std::find(i->depends_on.begin(), i->depends_on.end(), init.id) != i->depends_on.end())
        return k;
    }
    const Reduce* r = reduced.as<Reduce>();
    Instruction merged = insn;
    merged.rhs =
        is_neutral(r->op, init.rhs) ? reduced : with_operands(insn.rhs, {init.rhs, reduced});
    std::erase(merged.depends_on, init.id);
    for (const std::string& d : init.depends_on)
      if (std::find(merged.depends_on.begin(), merged.depends_on.end(), d) ==
          merged.depends_on.end())
        merged.depends_on.push_back(d);
    Kernel out = k;
    out.instructions[n] = std::make_shared<const Instruction>(merged);
    out.instructions.erase(out.instructions.begin() + std::ptrdiff_t(m));
    // Only the write: the accumulation itself keeps its place among its own.
    Access write;
    write.variable = target;
    write.write = true;
    if (const Load* l = insn.lhs[0].as<Load>()) write.index = l->index;
    write.at = init.at;
    const std::vector<std::string> shared(insn.inames.begin(), insn.inames.end());
    try {
      return staged(k, rebase(out),
                    {{insn.id,
                      init.id,
                      stage_relation(k, insn.inames, shared, place_of(init), {}),
                      {write}}});
    } catch (const Refused&) {  // something comes between; the assignment stays
      return k;
    }
  }

  const std::vector<std::string>& inames_;
};

}  // namespace

Kernel recognize_reduction(const Kernel& k, const std::vector<std::string>& inames,
                           const Match& within) {
  const Recognizer r(k, inames);
  Kernel out = k;
  for (const std::string& id : r.find(k, within)) out = r.recognize(out, id);
  return out;
}

extern const Op recognize_reduction_op;
const Op recognize_reduction_op{
    .name = "recognize_reduction",
    .doc = R"(Makes accumulations over loops reductions, which may then run in any order.

An accumulation is v = v + e, v = v*e, v = min(v, e), v = max(v, e), v = v or e, v = v and e, where `v`
does not depend on the loops. The initial value stays: c = c + sum(k, e); an initialization in the same
loops is taken in when nothing comes between. To recognize a reduction declares that the order of its
terms does not matter.

Refuses instructions of another form, and accumulators that something else reads or writes while the
loops run, with two instances.)",
    .params =
        {{.name = "inames",
          .kind = Kind::Names,
          .help = "the loops to reduce over",
          .required = true,
          .positional = true},
         {.name = "within", .kind = Kind::Match, .help = "the accumulations", .positional = true}},
    .example_kernel = R"(kernel rows(n: int32, a: float64[n, n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < n}
for i
  c[i] = 0  {id=init}
  for k
    c[i] = c[i] + a[i, k]  {id=add, dep=init}
  end
end
)",
    .example = R"(knl = lp.recognize_reduction(knl, "k"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return recognize_reduction(k, a.names("inames"), Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
