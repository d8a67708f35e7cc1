#include "transforms/guarded_terms.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/expr/reduction_steps.h"
#include "core/infer/reductions.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/registry.h"

namespace moonloop {

GuardedTerms::Instances GuardedTerms::instances(const std::vector<std::string>& around,
                                                const std::vector<std::string>& reduced) const {
  Instances out;
  out.around = around;
  out.loops = around;
  out.loops.insert(out.loops.end(), reduced.begin(), reduced.end());
  out.old = domain_of(before_, out.loops);
  out.all = domain_of(out_, out.loops);
  const Set old_around = to_dims(domain_of(before_, around), out.loops);
  out.known = isl_set_intersect(out.all.copy(), old_around.copy());
  out.added = isl_set_subtract(out.known.copy(), out.old.copy());
  return out;
}

Expr GuardedTerms::guarded(const Instruction& insn, const Reduce& r,
                           const std::optional<Type>& wanted, const Span& at) {
  if (arity(r.op) != 1)
    refuse("unsupported", at, "`{}` over loops that are rounded up", to_string(r.op));
  is_ = instances({insn.inames.begin(), insn.inames.end()}, r.inames);
  rules_.clear();
  const Expr& term = r.args[0];
  const std::optional<Typed> typed = typer_.type(term, wanted);
  const std::optional<Type> type = typed ? std::optional(typed->type) : std::nullopt;
  Reduce out = r;
  if (may_trap(term) || reads_changing(term, insn)) {
    const Set condition = coalesce(gist(is_.old, is_.all));
    out.args[0] = under(nested(term, is_.loops), from_set(condition), r.op, type);
  } else {
    out.args[0] = parts(term, loops_in(term));
    const bool sums = r.op == ReduceOp::Sum || r.op == ReduceOp::Any;
    if (is_.adds() && !(sums && size(out.args[0]) == Size::Zero))
      out.args[0] = under(out.args[0], from_set(coalesce(gist(is_.old, is_.known))), r.op, type);
  }
  return Expr(std::move(out), at);
}

/// Reductions in a term, which is for old instances only.
Expr GuardedTerms::nested(const Expr& e, const std::vector<std::string>& around) const {
  if (!contains_reduction(e)) return e;
  const Reduce* r = e.as<Reduce>();
  if (!r) return map_children(e, [&](const Expr& c) { return nested(c, around); });
  const Instances is = instances(around, r->inames);
  if (is.adds() && arity(r->op) != 1)
    refuse("unsupported", e.at(), "`{}` over loops that are rounded up", to_string(r->op));
  Reduce out = *r;
  for (Expr& a : out.args) a = nested(a, is.loops);
  if (is.adds()) {
    const auto t = typer_.type(r->args[0]);
    out.args[0] = under(out.args[0], from_set(coalesce(gist(is.old, is.known))), r->op,
                        t ? std::optional(t->type) : std::nullopt);
  }
  return Expr(std::move(out), e.at());
}

Expr GuardedTerms::under(const Expr& term, const Expr& condition, ReduceOp op,
                         const std::optional<Type>& type) const {
  if (!type) refuse("unsupported", term.at(), "the type of `{}` is not known", to_string(term));
  if (const auto* always = condition.as<BoolLit>(); always && always->value) return term;
  return Expr(Select{condition, term, neutral_values(op, {*type})[0]}, term.at());
}

/// The largest parts that depend on fewer loops than `most` and read arrays become rules.
Expr GuardedTerms::parts(const Expr& e, const std::set<std::string>& most) {
  if (!reads_array(e)) return e;
  const std::set<std::string> used = loops_in(e);
  if (used != most || e.as<Load>() || e.as<Field>() || is_whole(e)) return rule(e, used);
  // Sums and products are evaluated from the left: their first operands are a part together.
  if (const Nary* n = e.as<Nary>()) {
    std::size_t first = n->terms.size();
    const auto begins = [&] {
      return Expr(Nary{n->op, {n->terms.begin(), n->terms.begin() + std::ptrdiff_t(first)}},
                  e.at());
    };
    while (first > 1 && loops_in(begins()) == most) --first;
    if (first > 1 && reads_array(begins())) {
      Exprs terms{rule(begins(), loops_in(begins()))};
      for (std::size_t t = first; t < n->terms.size(); ++t)
        terms.push_back(parts(n->terms[t], most));
      return Expr(Nary{n->op, std::move(terms)}, e.at());
    }
  }
  return map_children(e, [&](const Expr& c) { return parts(c, most); });
}

Expr GuardedTerms::rule(const Expr& e, const std::set<std::string>& used) {
  std::vector<std::string> params = in_order_of_subscripts(e, used);
  const std::size_t own_loops = params.size();
  for (const std::string& i : is_.around)
    if (!used.contains(i) && !rounded_.contains(i)) params.push_back(i);
  const auto condition_for = [&] {
    return coalesce(gist(to_dims(is_.old, params), to_dims(is_.all, params)));
  };
  Set condition = condition_for();
  const std::size_t all = params.size();
  for (std::size_t d = all; d-- > own_loops;)  // of other loops around, those that bound it
    if (!yes(isl_set_involves_dims(condition.get(), isl_dim_set, unsigned(d), 1)))
      params.erase(params.begin() + std::ptrdiff_t(d));
  if (params.size() < all) condition = condition_for();
  const Set own = to_dims(is_.old, params);
  if (yes(isl_set_plain_is_universe(condition.get()))) return e;
  Exprs args;
  for (const std::string& i : params) args.push_back(var(i, e.at()));
  const Expr body(Select{from_set(condition), e, zero_of(e)}, e.at());
  for (const auto& [name, kept] : rules_)
    if (const Rule* r = out_.find_rule(name); r->params == params && equal(r->body, body))
      return call(name, args, e.at());

  std::string array;
  walk(e, [&](const Expr& x) {
    if (const Load* l = x.as<Load>(); l && array.empty()) array = l->array;
    return array.empty();
  });
  Rule made{out_.fresh_name(array + "_read"), params, body, e.at()};
  const std::string name = made.name;
  out_.rules.push_back(std::move(made));
  // Its zeros are wherever a term is added, or its values count.
  const Set where = isl_set_intersect(is_.added.copy(), to_dims(own, is_.loops).take());
  rules_[name] = yes(isl_set_is_empty(where.get())) ? Size::Zero : Size::Unknown;
  return call(name, args, e.at());
}

/// As the array has them, so that loops over the parameters run along memory.
std::vector<std::string> GuardedTerms::in_order_of_subscripts(
    const Expr& e, const std::set<std::string>& used) const {
  std::vector<std::string> out;
  const auto add = [&](const std::string& i) {
    if (used.contains(i) && std::find(out.begin(), out.end(), i) == out.end()) out.push_back(i);
  };
  for_each_of<Load>(e, [&](const Load& l, const Expr&) {
    for (const Expr& index : l.index)
      for_each_of<Var>(index, [&](const Var& v, const Expr&) { add(v.name); });
  });
  for (const std::string& i : is_.loops) add(i);
  return out;
}

std::set<std::string> GuardedTerms::loops_in(const Expr& e) const {
  std::set<std::string> vars, out;
  collect_vars(e, vars);
  for (const std::string& i : is_.loops)
    if (vars.contains(i)) out.insert(i);
  return out;
}

bool GuardedTerms::reads_array(const Expr& e) const {
  bool found = false;
  for_each_of<Load>(e, [&](const Load&, const Expr&) { found = true; });
  return found;
}

/// What is written in loops around the instruction is there for its old instances only, unless the
/// term reads other elements in the same iteration of the loops that stay as they are; elements
/// that these loops do not write are the same for all instances.
bool GuardedTerms::reads_changing(const Expr& e, const Instruction& insn) const {
  std::set<std::string> read;
  collect_reads(e, read);
  for (const InsnPtr& i : before_.instructions) {
    // Beside the loops that are rounded up it runs before all of their instances, or after all.
    const bool is_beside = std::none_of(i->inames.begin(), i->inames.end(), [&](const auto& name) {
      return insn.inames.contains(name) && rounded_.contains(name);
    });
    if (is_beside && i->id != insn.id) continue;
    std::set<std::string> written = writes(*i);
    std::erase_if(written, [&](const std::string& w) { return !read.contains(w); });
    for (const std::string& w : written)
      if (may_read_written(e, w, insn, *i)) return true;
  }
  return false;
}

/// Whether the term may read an element of the array that `writer` writes while loops around both
/// that are not rounded up stand still.
bool GuardedTerms::may_read_written(const Expr& e, const std::string& array,
                                    const Instruction& insn, const Instruction& writer) const {
  if (writer.kind != InsnKind::Assign) return true;
  std::vector<std::string> shared;
  for (const std::string& i : insn.inames)
    if (writer.inames.contains(i) && !rounded_.contains(i)) shared.push_back(i);
  const std::vector<std::string> inames(writer.inames.begin(), writer.inames.end());
  const auto elements = [&](const Exprs& index, const Set& instances) -> std::optional<Set> {
    std::vector<std::string> all = dim_names(instances), kept = shared;
    Exprs at;
    for (std::size_t d = 0; d < index.size(); ++d) {
      kept.push_back("at " + std::to_string(d));
      at.push_back(Expr(Compare{CompareOp::Eq, var(kept.back()), index[d]}));
    }
    all.insert(all.end(), kept.begin() + std::ptrdiff_t(shared.size()), kept.end());
    const auto where = to_condition(before_, conjunction(at), all);
    if (!where) return std::nullopt;
    return to_dims(isl_set_intersect(to_dims(instances, all).take(), where->copy()), kept);
  };
  bool found = false;
  std::size_t loads = 0;
  for_each_of<Load>(e, [&](const Load& l, const Expr&) {
    if (l.array != array) return;
    ++loads;
    for (const Expr& to : writer.lhs) {
      const Load* w = to.as<Load>();
      if (written_name(to) != array) continue;
      if (!w || w->index.empty() || w->index.size() != l.index.size()) {
        found = true;
        continue;
      }
      const auto ours = elements(l.index, is_.old);
      const auto theirs = elements(w->index, domain_of(before_, inames));
      found = found || !ours || !theirs || !yes(isl_set_is_disjoint(ours->get(), theirs->get()));
    }
  });
  return found || loads == 0;
}

/// Whether it may not be evaluated for any values: divisions of integers, functions from elsewhere,
/// and choices, which guard what they choose.
bool GuardedTerms::may_trap(const Expr& e) const {
  bool found = false;
  walk(e, [&](const Expr& x) {
    if (const auto* b = x.as<Binary>(); b && b->op != BinaryOp::Pow) {
      const auto t = typer_.type(b->right);
      const auto divisor = as_int(b->right);
      const bool real =
          t && !t->type.is_record() && (is_real(t->type.scalar) || is_complex(t->type.scalar));
      found = found || !(real || (divisor && *divisor > 0));
    } else if (const Call* c = x.as<Call>()) {
      found = found || !find_function(c->name);
    } else if (x.as<Select>() || x.as<Reduce>() || x.as<SubArray>() || x.as<Slice>()) {
      found = true;
    }
    return !found;
  });
  return found;
}

/// Logical operations choose what they evaluate.
bool GuardedTerms::is_whole(const Expr& e) const {
  const Nary* n = e.as<Nary>();
  return n && (n->op == NaryOp::And || n->op == NaryOp::Or);
}

/// Its values for the terms that are added.
GuardedTerms::Size GuardedTerms::size(const Expr& e) const {
  if (const Call* c = e.as<Call>()) {
    const auto it = rules_.find(c->name);
    if (it != rules_.end() && it->second == Size::Zero) return Size::Zero;
    if (it != rules_.end()) return Size::Unknown;
  }
  if (const auto* l = e.as<FloatLit>())
    return std::isfinite(l->value) ? Size::Finite : Size::Unknown;
  if (const auto* u = e.as<Unary>(); u && (u->op == UnaryOp::Neg || u->op == UnaryOp::Sub))
    return size(u->arg);
  if (const auto* c = e.as<Cast>(); c && size(c->arg) == Size::Zero) return Size::Zero;
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::Add || n->op == NaryOp::Mul)) {
    int zeros = 0, unknown = 0;
    for (const Expr& t : n->terms) {
      const Size s = size(t);
      zeros += s == Size::Zero;
      unknown += s == Size::Unknown;
    }
    if (n->op == NaryOp::Add && zeros == int(n->terms.size())) return Size::Zero;
    if (n->op == NaryOp::Mul && zeros > 0 && unknown == 0) return Size::Zero;
  }
  bool of_rules = false;
  for_each_of<Call>(e, [&](const Call& c, const Expr&) { of_rules |= rules_.contains(c.name); });
  if (of_rules) return Size::Unknown;
  const auto t = typer_.type(e);
  return t && !t->type.is_record() && is_integer(t->type.scalar) ? Size::Finite : Size::Unknown;
}

Expr GuardedTerms::zero_of(const Expr& e) const {
  const auto t = typer_.type(e);
  if (!t) refuse("unsupported", e.at(), "the type of `{}` is not known", to_string(e));
  return neutral_values(ReduceOp::Sum, {t->type})[0];
}

}  // namespace moonloop
