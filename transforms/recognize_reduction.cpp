#include "transforms/recognize_reduction.h"

#include <algorithm>
#include <array>

#include "core/expr/reduction_steps.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/accumulation.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/rewrite/staging.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Whether some domain's bounds need the temporary.
bool bounds_loops(const Kernel& k, const std::string& name) {
  return std::any_of(k.domains.begin(), k.domains.end(), [&](const Domain& d) {
    const std::vector<std::string> params = d.params();
    return std::find(params.begin(), params.end(), name) != params.end();
  });
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
        refuse("twice", k.at, "`{}` occurs twice in the list of inames", i);
    }
    if (inames.empty()) refuse("no-inames", k.at, "no iname is given to reduce over");
  }

  std::vector<std::string> find(const Kernel& k, const Match& within) const {
    std::vector<std::string> ids, anew;
    const InsnPtr* other = nullptr;
    for (const std::size_t n : some_matching(k, within, "no instruction matches `within`")) {
      const Instruction& insn = *k.instructions[n];
      const bool inside = std::all_of(inames_.begin(), inames_.end(),
                                      [&](const auto& i) { return insn.inames.contains(i); });
      if (!inside) continue;
      if (!accumulation(insn)) {
        if (!other) other = &k.instructions[n];
      } else if (within.everything() && starts_anew(k, insn)) {
        anew.push_back(insn.id);
      } else {
        ids.push_back(insn.id);
      }
    }
    if (ids.empty()) ids = anew;  // the proof says what is wrong with them
    if (other && (ids.empty() || !within.everything()))
      refuse(
          "not-accumulation", (*other)->at,
          "instruction `{}` does not accumulate: it has not the form `v = v + e`, with `+`, `*`, "
          "`min`, `max`, `or` or `and`",
          (*other)->id);
    if (ids.empty())
      refuse("no-match", k.at, "no selected instruction is in the loops over {}",
             quoted_list(inames_));
    return ids;
  }

  Kernel recognize(const Kernel& k, const std::string& id) const {
    const std::size_t n = index_of(k, id);
    const Instruction& insn = *k.instructions[n];
    const Accumulation a = *accumulation(insn);
    std::set<std::string> vars;
    collect_vars(expand_rules(k, insn.lhs[0]), vars);
    for (const std::string& i : inames_)
      if (vars.contains(i))
        refuse("carried-target", insn.at,
               "`{}` writes another element in each iteration of `{}`: `{}`", id, i,
               to_string(insn.lhs[0]));
    require_any_order(k, insn, a);
    Instruction changed = insn;
    for (const std::string& i : inames_) changed.inames.erase(i);
    const Expr taken_away = subtracted(k, insn.lhs[0], a.addend);
    Expr addend = taken_away ? taken_away : widened(k, insn.lhs[0], a.addend);
    changed.predicates.clear();
    Exprs conditions;
    for (std::size_t p = 0; p < insn.predicates.size(); ++p)
      if (a.test != p)
        for (const Expr& c : conjuncts(insn.predicates[p]))
          (varies(k, c) || (!conditions.empty() && reads_elements(expand_rules(k, c)))
               ? conditions
               : changed.predicates)
              .push_back(c);
    Expr read = addend;  // for the reads of the terms, without the accumulator
    if (!conditions.empty()) {
      const bool chooses = a.op == ReduceOp::Min || a.op == ReduceOp::Max;
      const Expr holds = conjunction(conditions);
      const auto unless = [&](const Expr& none) {
        return Expr(Select{holds, addend, none}, a.addend.at());
      };
      read = unless(chooses ? lit(0) : neutral_values(a.op, {}).front());
      // Of several equal values the choice takes one, so that its first value is neutral.
      addend = chooses ? unless(insn.lhs[0]) : read;
    }
    const Expr reduced(Reduce{a.op, inames_, {addend}, false}, a.addend.at());
    const Expr operand = taken_away ? Expr(Unary{UnaryOp::Sub, reduced}, a.addend.at()) : reduced;
    changed.rhs =
        accumulating_op(insn.rhs) == a.op && !a.test
            ? with_operands(insn.rhs, {insn.lhs[0], operand})
            : Expr(Call{a.op == ReduceOp::Min ? "min" : "max", {insn.lhs[0], reduced}, {}},
                   insn.rhs.at());
    Kernel out = k;
    out.instructions[n] = std::make_shared<const Instruction>(changed);
    if (const Expr some = when_not_empty(k, insn, changed); some && !may_run(k, out)) {
      changed.predicates.push_back(some);
      out.instructions[n] = std::make_shared<const Instruction>(changed);
    }
    return take_in_init(staged(k, rebase(out), stand_ins(k, insn, changed, read)), n, reduced);
  }

 private:
  /// Where `insn` runs at least once in the loops that `changed` reduces over; null: everywhere.
  static Expr when_not_empty(const Kernel& k, const Instruction& insn, const Instruction& changed) {
    const std::vector<std::string> all(insn.inames.begin(), insn.inames.end());
    const std::vector<std::string> rest(changed.inames.begin(), changed.inames.end());
    const Set around = domain_of(k, rest), some = to_dims(domain_of(k, all), rest);
    if (yes(isl_set_is_subset(around.get(), some.get()))) return {};
    return from_set(gist(some, around));
  }

  /// Whether the reduction may read its target also where it has no term: there the loops did not
  /// access the element, which may be undefined or outside of the array.
  static bool may_run(const Kernel& before, const Kernel& after) {
    const auto fine = [](const Kernel& k) {
      try {
        check_defined(rebase(complete(k)));  // what it reads itself, not what its source did
        return true;
      } catch (const Error& e) {
        return e.diagnostic().code != "undefined-read" && e.diagnostic().code != "out-of-bounds";
      }
    };
    return fine(after) || !fine(before);
  }

  static std::size_t index_of(const Kernel& k, const std::string& id) {
    for (std::size_t n = 0; n < k.instructions.size(); ++n)
      if (k.instructions[n]->id == id) return n;
    throw InternalError("recognize_reduction lost an instruction");
  }

  /// Whether each iteration of the loops gives the accumulator a value before it accumulates: then
  /// the sum is one iteration's own.
  bool starts_anew(const Kernel& k, const Instruction& insn) const {
    return std::any_of(k.instructions.begin(), k.instructions.end(), [&](const InsnPtr& i) {
      return i->kind == InsnKind::Assign && i->predicates.empty() && !accumulation(*i) &&
             std::any_of(i->lhs.begin(), i->lhs.end(),
                         [&](const Expr& l) { return equal(l, insn.lhs[0]); }) &&
             std::all_of(inames_.begin(), inames_.end(),
                         [&](const std::string& n) { return i->inames.contains(n); });
    });
  }

  static Exprs conjuncts(const Expr& p) {
    const Expr all = conjunction({p});
    const Nary* n = all.as<Nary>();
    return n && n->op == NaryOp::And ? n->terms : Exprs{all};
  }
  /// Then it stays behind the conditions before it, where these may say that the elements are
  /// there.
  static bool reads_elements(const Expr& p) {
    bool found = false;
    walk(p, [&](const Expr& e) {
      const Load* l = e.as<Load>();
      found = found || (l && !l->index.empty());
      return !found;
    });
    return found;
  }

  /// Whether a condition can differ between iterations of the loops: it names one of them, or what
  /// a statement in one of them writes.
  bool varies(const Kernel& k, const Expr& p) const {
    std::set<std::string> vars;
    const Expr e = expand_rules(k, p);
    collect_vars(e, vars);
    collect_reads(e, vars);
    const std::set<std::string> bound = reduction_inames(k, e);
    vars.merge(inames_bounding(k, bound));
    for (const Domain& d : k.domains) {  // temporaries that bound them
      const std::vector<std::string> dims = d.inames();
      if (std::any_of(dims.begin(), dims.end(), [&](const auto& i) { return bound.contains(i); }))
        for (std::string& n : d.params()) vars.insert(std::move(n));
    }
    if (std::any_of(inames_.begin(), inames_.end(),
                    [&](const auto& i) { return vars.contains(i); }))
      return true;
    return std::any_of(k.instructions.begin(), k.instructions.end(), [&](const InsnPtr& insn) {
      const bool inside = std::any_of(inames_.begin(), inames_.end(),
                                      [&](const auto& i) { return insn->inames.contains(i); });
      return inside && std::any_of(insn->lhs.begin(), insn->lhs.end(),
                                   [&](const Expr& to) { return vars.contains(written_name(to)); });
    });
  }

  static void require_any_order(const Kernel& k, const Instruction& insn, const Accumulation& a) {
    Kernel typed = expand_all_rules(k);
    try {
      typed = infer_types(std::move(typed));
    } catch (const Error&) {
      return;  // some types are not known yet
    }
    const auto [held, term, logical, truth, any_order] = types_of(std::move(typed), insn.id, a);
    if (any_order) return;
    const std::string target = to_string(insn.lhs[0]);
    Diagnostic d{"not-accumulation", {}, {insn.at, {}}, {}, {}};
    if (logical) {
      d.text = fmt::format("`{}` makes `{}` of type {} a truth value only where its loop runs",
                           insn.id, target, held.str());
      d.hint = "accumulate in a temporary of type bool";
    } else {
      d.text = fmt::format(
          "`{}` converts {} to the type {} of `{}` in each step, which a reduction "
          "does once",
          insn.id, term.str(), held.str(), target);
      d.hint = fmt::format("accumulate in a temporary of type {}", term.str());
      if (!truth)
        d.hint = fmt::format("convert the terms, as in `cast({}, {})`, or {}", held.str(),
                             to_string(a.addend), d.hint);
    }
    throw Refused(std::move(d));
  }

  static Type sum_type(const Typed& a, const Typed& b) {
    return combine(std::array{a, b}, a.type).type;
  }

  /// `x` of `v - x`, where the sum may be subtracted as well: it is of the accumulator's type,
  /// whose values have a sign.
  static Expr subtracted(const Kernel& k, const Expr& target, const Expr& addend) {
    const auto* u = addend.as<Unary>();
    if (!u || u->op != UnaryOp::Sub) return {};
    Kernel typed = k;
    try {
      typed = infer_types(k);
    } catch (const Error&) {  // some types are not known yet; the terms keep their sign
      return {};
    }
    const auto t = Typer(typed).type(target);
    if (!t || t->type.is_record() || integral(t->type)) return {};
    const auto x = Typer(typed).type(expand_rules(typed, u->arg), t->type);
    return x && x->type == t->type ? u->arg : Expr{};
  }

  /// The addend in the type in which it is added to the accumulator in each step. The rest of
  /// `v - x + y` begins with the subtracted term: `-x`, negated in the accumulator's type.
  static Expr widened(const Kernel& k, const Expr& target, Expr addend) {
    Kernel typed = k;
    try {
      typed = infer_types(k);
    } catch (const Error&) {  // some types are not known yet; they are found when all are there
    }
    const auto t = Typer(typed).type(target);
    const bool known = t && !t->type.is_record();
    const auto negative = [&](const Expr& x) {
      const auto of = known ? Typer(typed).type(expand_rules(typed, x), t->type) : std::nullopt;
      const bool own = !of || of->weak != Typed::Weak::No || of->type == t->type ||
                       !integral(of->type) || of->type.is_record();
      return Expr(Unary{UnaryOp::Neg, own ? x : Expr(Cast{sum_type(*t, *of), x}, x.at())}, x.at());
    };
    if (const auto* u = addend.as<Unary>(); u && u->op == UnaryOp::Sub) {
      addend = negative(u->arg);
    } else if (const auto* n = addend.as<Nary>(); n && n->op == NaryOp::Add) {
      Exprs terms = n->terms;
      const auto* lead = terms[0].as<Unary>();
      if (lead && lead->op == UnaryOp::Sub) {
        terms[0] = negative(lead->arg);
        addend = Expr(Nary{NaryOp::Add, std::move(terms)}, addend.at());
      }
    }
    if (!known) return addend;
    const Expr value = expand_rules(typed, addend);
    const auto e = Typer(typed).type(value, t->type);
    if (!e || e->type.is_record() || e->type == t->type) return addend;
    const Type sum = sum_type(*t, *e);
    return sum == e->type ? addend : Expr(Cast{sum, addend}, addend.at());
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
        init.atomic != Atomicity::None || insn.atomic != Atomicity::None ||
        stands_in(insn.lhs[0], reduced))
      return k;
    // The reads of the initial value must be the same later.
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

namespace {

/// `c = a < v` just ahead of `if c: v = a`, as structured conditions are kept: where nothing else
/// reads `c`, the condition replaces it.
Kernel with_conditions_in_place(const Kernel& k, const std::vector<std::string>& inames,
                                const Match& within) {
  Kernel out = k;
  for (std::size_t n = 1; n < out.instructions.size(); ++n) {
    const Instruction& use = *out.instructions[n];
    const Instruction& def = *out.instructions[n - 1];
    if (use.predicates.size() != 1 || def.kind != InsnKind::Assign || def.lhs.size() != 1 ||
        !def.predicates.empty() || def.inames != use.inames || def.atomic != Atomicity::None ||
        !within(out, use) || !std::all_of(inames.begin(), inames.end(), [&](const std::string& i) {
          return use.inames.contains(i);
        }))
      continue;
    const Var* kept = def.lhs[0].as<Var>();
    const Temporary* t = kept ? out.find_temporary(kept->name) : nullptr;
    if (!t || !equal(use.predicates[0], def.lhs[0]) || !t->base_storage.empty()) continue;
    Instruction changed = use;
    changed.predicates = {def.rhs};
    const std::string name = kept->name, id = def.id;
    if (!accumulation(changed)) continue;
    std::size_t reads_it = 0, others = 0;
    for (const InsnPtr& i : out.instructions) {
      reads_it += reads(out, *i).count(name);
      others += (i->id != id && writes(*i).count(name)) ||
                (i->id != use.id &&
                 std::find(i->depends_on.begin(), i->depends_on.end(), id) != i->depends_on.end());
    }
    for (std::size_t later = n + 1; later < out.instructions.size(); ++later)
      others += std::find(use.depends_on.begin(), use.depends_on.end(),
                          out.instructions[later]->id) != use.depends_on.end();
    if (reads_it != 1 || others || bounds_loops(out, name)) continue;
    std::erase(changed.depends_on, id);
    for (const std::string& d : def.depends_on)
      if (std::find(changed.depends_on.begin(), changed.depends_on.end(), d) ==
          changed.depends_on.end())
        changed.depends_on.push_back(d);
    out.instructions[n] = std::make_shared<const Instruction>(std::move(changed));
    out.instructions.erase(out.instructions.begin() + std::ptrdiff_t(n - 1));
    out.temporaries.erase(name);
    out = rebase(std::move(out));
    --n;
  }
  return out;
}

}  // namespace

Kernel recognize_reduction(const Kernel& k, const std::vector<std::string>& inames,
                           const Match& within) {
  Recognizer(k, inames);  // its checks come first
  const Kernel plain = with_conditions_in_place(k, inames, within);
  const Recognizer r(plain, inames);
  Kernel out = plain;
  for (const std::string& id : r.find(plain, within)) out = r.recognize(out, id);
  return out;
}

extern const Op recognize_reduction_op;
const Op recognize_reduction_op{
    .name = "recognize_reduction",
    .doc = R"(Makes accumulations over loops reductions, which may then run in any order.

An accumulation is v = v + e, v = v*e, v = min(v, e), v = max(v, e), v = v or e, v = v and e, where `v`
does not depend on the loops; v = e under the condition e < v, or e > v, is one too. Sums that each
iteration starts anew are left alone unless `within` names them. The initial value stays: c = c + sum(k, e); an initialization in the same
loops is taken in when nothing comes between. To recognize a reduction declares that the order of its
terms does not matter.

Refuses instructions of another form, accumulators whose type changes what is computed in each step, such
as int32 for terms of float64, and accumulators that something else reads or writes while the
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
