#include "core/rewrite/iname_rewrite.h"

#include <algorithm>
#include <iterator>

#include "core/order/reference.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

/// The most that a shorter form of a domain may cost.
constexpr unsigned long kTidyOperations = 200'000;

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool any_of(const std::vector<std::string>& names, const std::set<std::string>& in) {
  return std::any_of(names.begin(), names.end(), [&](const auto& n) { return in.contains(n); });
}

/// Replaces inames in expressions, and calls of rules by calls of their copies.
class Rewriter {
 public:
  Rewriter(const InameRewrite& rw, const std::map<std::string, std::string>& rule_copies)
      : rw_(rw), copies_(rule_copies) {
    for (const auto& [name, e] : rw.old_in_new) names_ |= name_bit(name);
    for (const auto& [name, inames] : rw.bound) names_ |= name_bit(name);
    for (const auto& [name, copy] : rule_copies) names_ |= name_bit(name);
  }

  /// `hidden`: parameters of the rule that `e` is the body of.
  Expr operator()(const Expr& e, const std::set<std::string>* hidden = nullptr) const {
    if (!(e.names() & names_)) return e;
    if (const Var* v = e.as<Var>()) {
      if (hidden && hidden->contains(v->name)) return e;
      const auto it = rw_.old_in_new.find(v->name);
      return it == rw_.old_in_new.end() ? e : it->second;
    }
    const Expr below = map_children(e, [&](const Expr& c) { return (*this)(c, hidden); });
    if (const Load* l = below.as<Load>()) return below.same_as(e) ? e : tidy_load(*l, e.at());
    if (const Reduce* r = below.as<Reduce>()) {
      Reduce out = *r;
      out.inames = bound(r->inames);
      return out.inames == r->inames ? below : Expr(std::move(out), e.at());
    }
    if (const SubArray* s = below.as<SubArray>()) {
      SubArray out = *s;
      out.inames.clear();
      for (const std::string& i : s->inames) {
        const auto it = rw_.bound.find(i);
        if (it != rw_.bound.end() && (it->second.size() != 1 || rw_.old.size() != 1))
          fail("swept-iname", e.at(),
               "`{}` sweeps a part of an array in `{}`; it can only be renamed", i, to_string(e));
        out.inames.push_back(it == rw_.bound.end() ? i : it->second.front());
      }
      return out.inames == s->inames ? below : Expr(std::move(out), e.at());
    }
    if (const Call* c = below.as<Call>()) {
      const auto it = copies_.find(c->name);
      if (it == copies_.end()) return below;
      Call out = *c;
      out.name = it->second;
      return Expr(std::move(out), e.at());
    }
    return below;
  }

 private:
  std::vector<std::string> bound(const std::vector<std::string>& inames) const {
    std::vector<std::string> out;
    for (const std::string& i : inames) {
      const auto it = rw_.bound.find(i);
      if (it == rw_.bound.end())
        out.push_back(i);
      else
        out.insert(out.end(), it->second.begin(), it->second.end());
    }
    return out;
  }

  /// Subscripts are integers, so the sums that substitution nests can be flattened.
  static Expr tidy_load(const Load& l, const Span& at) {
    Load out = l;
    for (Expr& x : out.index)
      x = rewrite(x, [](const Expr& e) {
        const Nary* n = e.as<Nary>();
        return n && n->op == NaryOp::Add ? index_add(n->terms) : e;
      });
    return Expr(std::move(out), at);
  }

  const InameRewrite& rw_;
  const std::map<std::string, std::string>& copies_;
  std::uint32_t names_ = 0;  // bits of all that is replaced
};

/// Calls `visit` with the name of each rule that `e` calls directly.
template <class F>
void for_each_rule_call(const Kernel& k, const Expr& e, F visit) {
  if (k.rules.empty()) return;
  for_each_of<Call>(e, [&](const Call& c, const Expr&) {
    if (k.find_rule(c.name)) visit(c.name);
  });
}

template <class F>
void for_each_expr(const Instruction& insn, F visit) {
  for (const Expr& e : insn.lhs) visit(e);
  if (insn.rhs) visit(insn.rhs);
  for (const Expr& e : insn.predicates) visit(e);
}

/// Rules that some instruction of `from` calls, directly or not.
std::set<std::string> rules_reached(const Kernel& k, const std::vector<bool>& from) {
  std::set<std::string> reached;
  std::vector<std::string> todo;
  const auto see = [&](const std::string& n) {
    if (reached.insert(n).second) todo.push_back(n);
  };
  if (k.rules.empty()) return reached;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    if (from[n])
      for_each_expr(*k.instructions[n], [&](const Expr& e) { for_each_rule_call(k, e, see); });
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    for_each_rule_call(k, k.find_rule(name)->body, see);
  }
  return reached;
}

/// Rules in whose bodies, or in those that they call, an old iname occurs.
std::set<std::string> rules_affected(const Kernel& k, const InameRewrite& rw) {
  std::set<std::string> affected;
  std::uint32_t names = 0;
  for (const std::string& o : rw.old) names |= name_bit(o);
  for (const Rule& r : k.rules) {
    if (!(r.body.names() & names)) continue;
    std::set<std::string> vars;
    collect_vars(r.body, vars);
    for (const std::string& p : r.params) vars.erase(p);
    if (any_of(rw.old, vars)) affected.insert(r.name);
  }
  for (bool grew = !affected.empty(); grew;) {
    grew = false;
    for (const Rule& r : k.rules)
      if (!affected.contains(r.name))
        for_each_rule_call(k, r.body, [&](const std::string& n) {
          if (affected.contains(n)) grew |= affected.insert(r.name).second;
        });
  }
  return affected;
}

/// `r` with a parameter that a new iname would be mistaken for renamed.
Rule without_capture(const Kernel& k, const Rule& r, const InameRewrite& rw) {
  std::map<std::string, std::string> names;
  Rule out = r;
  std::set<std::string> used(rw.fresh.begin(), rw.fresh.end());
  for (const auto& [old, value] : rw.old_in_new) collect_vars(value, used);
  for (std::string& p : out.params)
    if (used.contains(p)) p = names[p] = k.fresh_name(p + "_arg");
  if (!names.empty()) out.body = rename(r.body, names);
  return out;
}

/// { : old = its expression } over parameters.
Set equations(const InameRewrite& rw) {
  Set all = universe(rw.fresh);
  for (const auto& [old, e] : rw.old_in_new) {
    const std::optional<PwAff> value = to_affine(e, rw.fresh), name = to_affine(var(old), rw.fresh);
    if (!value || !name)
      throw InternalError("an iname is replaced by an expression that is not affine");
    all = isl_set_intersect(all.take(), isl_pw_aff_eq_set(value->copy(), name->copy()));
  }
  if (rw.range) all = isl_set_intersect(all.take(), rw.range.copy());
  return all_to_params(all);
}

/// Whether an old iname is among the parameters of `s`, even if no constraint mentions it.
bool lists_old(const InameRewrite& rw, const Set& s) {
  return std::any_of(rw.old.begin(), rw.old.end(), [&](const std::string& o) {
    return isl_set_find_dim_by_name(s.get(), isl_dim_param, o.c_str()) >= 0;
  });
}

Set rewrite_params(const Set& s, const InameRewrite& rw) {
  if (!lists_old(rw, s)) return s;
  const Set with = isl_set_intersect_params(s.copy(), equations(rw).take());
  return tidy(drop_params(with, rw.old));
}

/// The home domain of `old`, merged into the loop that exists already: a domain without dimensions
/// is to be dropped.
Set merge_home(const Kernel& k, const Set& s, const std::string& old, const std::string& into) {
  std::vector<std::string> dims = dim_names(s);
  std::erase(dims, old);
  // Loops around the loop that stays cannot depend on it.
  if (contains(dims, into) || bounds_depend_on(k, into, dims)) return tidy(to_dims(s, dims));
  const Set renamed = dims_to_params(rename_dims(s, {{old, into}}), {into});
  const Set known = all_to_params(k.home_of(into)->set);
  // Parameters of `known` that mean nothing may be dimensions here.
  const Set rest = gist_of_loops(renamed, known);
  return tidy(isl_set_drop_unused_params(rest.copy()));
}

/// Whether the instruction is in a loop over one of `inames`, or a reduction in it binds one.
bool uses_some(const Kernel& k, const Instruction& insn, const std::vector<std::string>& inames) {
  return any_of(inames, insn.inames) ||
         (may_reduce(k, insn) && any_of(inames, all_inames(k, insn)));
}

/// The users of an iname: whether a selected instruction uses it, and one that is not selected.
struct Use {
  bool selected = false;
  const Instruction* other = nullptr;
};
using Uses = std::map<std::string, Use>;

Uses uses_of(const Kernel& k, const std::vector<bool>& selected) {
  Uses uses;
  for (std::size_t n = 0; n < selected.size(); ++n)
    for (const std::string& i : all_inames(k, *k.instructions[n])) {
      Use& use = uses[i];
      if (selected[n])
        use.selected = true;
      else
        use.other = k.instructions[n].get();
    }
  return uses;
}

/// Do selected instructions use inames of `d`, whose bounds depend on an old iname?
bool bounds_selected(const InameRewrite& rw, const Domain& d, const Uses& uses) {
  bool selected = false;
  const Instruction* other = nullptr;
  std::string shared;
  for (const std::string& i : d.inames()) {
    const auto it = uses.find(i);
    if (it == uses.end()) continue;
    selected |= it->second.selected;
    if (it->second.other) other = it->second.other, shared = i;
  }
  if (selected && other)
    refuse(
        "shared-bound", other->at,
        "the bounds of `{}` depend on {}, and instruction `{}`, which is not selected, uses `{}` "
        "too; duplicate `{}` first",
        shared, quoted_list(rw.old), other->id, shared, shared);
  return selected;
}

Set rewrite_home(const Set& s, const InameRewrite& rw) {
  return rw.home ? rw.home : rewrite_inames(s, rw);
}

/// The domains after the rewrite; `whole` when the old inames are no longer used.
std::vector<Domain> rewrite_domains(const Kernel& k, const InameRewrite& rw, const Uses& uses,
                                    bool whole) {
  const Domain* home = k.home_of(rw.old.front());
  ensure(home != nullptr, "rewrite_inames: the iname has no domain");
  std::vector<Domain> out;
  out.reserve(k.domains.size() + 1);
  for (const Domain& d : k.domains) {
    if (&d != home && !lists_old(rw, d.set)) {
      out.push_back(d);
      continue;
    }
    Domain changed = d;
    if (&d == home) {
      const std::vector<std::string> dims = d.inames();
      if (whole && rw.existing) {
        changed.set = merge_home(k, d.set, rw.old.front(), rw.fresh.front());
        if (dim_names(changed.set).empty()) continue;
      } else if (whole) {
        changed.set = rewrite_home(d.set, rw);
      } else if (!rw.existing) {
        const Set copy = rewrite_home(d.set, rw);
        if (dims.size() == rw.old.size()) {
          out.push_back(d);
          changed.set = copy;
        } else {
          std::vector<std::string> order = dims;
          auto last = std::find_if(order.rbegin(), order.rend(),
                                   [&](const auto& n) { return contains(rw.old, n); });
          order.insert(last.base(), rw.fresh.begin(), rw.fresh.end());
          changed.set = to_dims(join_by_name(d.set, copy), order);
        }
      }
    } else {
      const std::vector<std::string> params = d.params();
      if (any_of(rw.old, {params.begin(), params.end()})) {
        if (whole || bounds_selected(rw, d, uses)) changed.set = rewrite_params(d.set, rw);
      } else if (whole) {
        changed.set = isl_set_drop_unused_params(d.set.copy());  // the name means nothing any more
      }
    }
    out.push_back(std::move(changed));
  }
  return out;
}

void rewrite_order(const InameRewrite& rw, bool whole, Kernel& out) {
  std::vector<std::string> order = out.loop_order;
  if (rw.existing) {
    if (whole) std::erase_if(order, [&](const auto& n) { return contains(rw.old, n); });
  } else if (whole) {
    order = rewrite_inames(order, rw);
  } else {
    auto last = std::find_if(order.rbegin(), order.rend(),
                             [&](const auto& n) { return contains(rw.old, n); });
    order.insert(last.base(), rw.fresh.begin(), rw.fresh.end());
  }
  out.loop_order = std::move(order);
  std::vector<std::vector<std::string>> chains;
  for (const std::vector<std::string>& chain : out.priorities) {
    std::vector<std::string> changed = rewrite_inames(chain, rw);
    if (!whole && changed != chain) chains.push_back(chain);
    std::vector<std::string> distinct;
    for (std::string& n : changed)
      if (!contains(distinct, n)) distinct.push_back(std::move(n));
    if (distinct.size() > 1) chains.push_back(std::move(distinct));
  }
  out.priorities = std::move(chains);
}

}  // namespace

InameRewrite renamed_inames(const std::vector<std::pair<std::string, std::string>>& names) {
  InameRewrite rw;
  for (const auto& [from, to] : names) {
    rw.old.push_back(from);
    rw.fresh.push_back(to);
    rw.old_in_new[from] = var(to);
    rw.bound[from] = {to};
  }
  std::vector<std::string> dims = rw.old;
  dims.insert(dims.end(), rw.fresh.begin(), rw.fresh.end());
  rw.relation = universe(dims);
  const int n = static_cast<int>(names.size());
  for (int i = 0; i < n; ++i)
    rw.relation = isl_set_equate(rw.relation.take(), isl_dim_set, i, isl_dim_set, n + i);
  return rw;
}

Expr rewrite_inames(const Expr& e, const InameRewrite& rw) { return Rewriter(rw, {})(e); }

std::vector<std::string> rewrite_inames(const std::vector<std::string>& list,
                                        const InameRewrite& rw) {
  std::vector<std::string> out;
  bool placed = false;
  for (const std::string& n : list) {
    if (!contains(rw.old, n)) {
      out.push_back(n);
    } else if (!placed) {
      out.insert(out.end(), rw.fresh.begin(), rw.fresh.end());
      placed = true;
    }
  }
  return out;
}

Set rewrite_inames(const Set& s, const InameRewrite& rw) {
  const std::vector<std::string> dims = dim_names(s);
  if (!any_of(rw.old, {dims.begin(), dims.end()})) return rewrite_params(s, rw);
  return tidy(to_dims(join_by_name(s, rw.relation), rewrite_inames(dims, rw)));
}

InameRewrite add_renamed_domain(Kernel& k, const std::vector<std::string>& inames, Set points,
                                const Span& at) {
  InameRewrite out;
  std::map<std::string, std::string> names;
  for (const std::string& i : inames) {
    const std::string own = k.fresh_name(i);
    out.old.push_back(i);
    out.fresh.push_back(own);
    out.old_in_new[i] = var(own);
    out.bound[i] = {own};
    names[i] = own;
    k.loop_order.push_back(own);
    if (const InameTag* tag = k.tag(i)) k.iname_tags[own] = InameTag(*tag);
  }
  k.domains.push_back({tidy(rename_dims(std::move(points), names)), at});
  return out;
}

namespace {

/// The equalities of a basic set that hold without quotients.
std::string equalities_of(const BasicSet& s) {
  std::string out;
  for (const Constraint& c : constraints_of(s)) {
    const int divs = count(isl_constraint_dim(c.get(), isl_dim_div));
    if (!yes(isl_constraint_is_equality(c.get())) ||
        (divs > 0 && yes(isl_constraint_involves_dims(c.get(), isl_dim_div, 0, unsigned(divs)))))
      continue;
    const AffineConstraint row = constraint_of(c);
    for (const auto& [name, a] : row.coefficients) out += fmt::format("{}{}+", a, name);
    out += fmt::format("{};", row.constant);
  }
  return out;
}

Set coalesced(const Set& s) {
  Set whole = coalesce(s.copy());
  if (count(isl_set_n_basic_set(whole.get())) < 2) return whole;
  std::map<std::string, Set> groups;
  for (const BasicSet& part : parts_of(s)) {
    Set& group = groups[equalities_of(part)];
    const Set one = isl_set_from_basic_set(part.copy());
    group = group ? Set(isl_set_union(group.take(), one.copy())) : one;
  }
  if (groups.size() < 2) return whole;
  Set apart = isl_set_empty(isl_set_get_space(s.get()));
  for (const auto& [equalities, group] : groups)
    apart = isl_set_union(apart.take(), coalesce(group).take());
  const bool as_few = isl_set_n_basic_set(apart.get()) <= isl_set_n_basic_set(whole.get());
  return as_few ? apart : whole;
}

/// Whether all of `hull` is in `s`; not known to be where that takes too long.
bool holds_all_of(const Set& s, const Set& hull) {
  try {
    const IslBudget budget(kTidyOperations);
    return yes(isl_set_is_subset(hull.get(), s.get()));
  } catch (const IslQuota&) { return false; }
}

}  // namespace

Set tidy(Set s) {
  s = coalesced(s);
  s = isl_set_remove_redundancies(s.take());
  const Set hull = isl_set_from_basic_set(isl_set_simple_hull(isl_set_remove_divs(s.copy())));
  if (holds_all_of(s, hull)) s = hull;
  return isl_set_drop_unused_params(s.take());  // an iname may get the name of what it depended on
}

std::vector<std::size_t> users_of(const Kernel& k, const std::string& iname) {
  std::vector<std::size_t> users;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    if (uses_some(k, *k.instructions[n], {iname})) users.push_back(n);
  return users;
}

Kernel rewrite_inames(const Kernel& k, const InameRewrite& rw, const Match& within) {
  std::vector<bool> picked(k.instructions.size(), within.everything());
  if (within.everything()) return rewrite_inames(k, rw, picked);
  bool some = false;
  for (std::size_t n = 0; n < picked.size(); ++n) {
    if (!uses_some(k, *k.instructions[n], rw.old)) continue;
    picked[n] = within(k, *k.instructions[n]);
    some |= picked[n];
  }
  if (!some)
    fail("no-match", k.at, "no instruction that `within` selects uses {}", quoted_list(rw.old));
  return rewrite_inames(k, rw, picked);
}

Kernel rewrite_inames(const Kernel& k, const InameRewrite& rw, const std::vector<bool>& picked) {
  const std::size_t count = k.instructions.size();
  std::vector<bool> selected(count), others(count);
  bool whole = true;
  for (std::size_t n = 0; n < count; ++n) {
    if (!uses_some(k, *k.instructions[n], rw.old)) continue;
    selected[n] = picked[n];
    others[n] = !selected[n];
    whole &= selected[n];
  }

  Kernel out = k;
  const std::set<std::string> affected = rules_affected(k, rw);
  std::map<std::string, std::string> copies;
  if (!whole)
    for (const std::string& n : rules_reached(k, others))
      if (affected.contains(n)) copies[n] = {};
  const std::set<std::string> mine =
      whole || affected.empty() ? affected : rules_reached(k, selected);
  std::erase_if(copies, [&](const auto& c) { return !mine.contains(c.first); });
  std::set<std::string> taken;
  for (auto& [name, copy] : copies) {
    for (int n = 0; copy.empty() || taken.contains(copy); ++n)
      copy = k.fresh_name(name + "_" + std::to_string(n));
    taken.insert(copy);
  }
  const Rewriter rewriter(rw, copies);

  out.domains = rewrite_domains(k, rw, whole ? Uses() : uses_of(k, selected), whole);
  if (!affected.empty()) out.rules.clear();
  for (auto at = k.rules.begin(); at != k.rules.end(); ++at) {
    if (affected.empty()) break;  // the rules stay
    const Rule& r = *at;
    const bool shared = copies.contains(r.name);
    if (!affected.contains(r.name) || (!whole && !mine.contains(r.name))) {
      out.rules.push_back(at);
      continue;
    }
    if (shared) out.rules.push_back(at);
    Rule changed = without_capture(k, r, rw);
    if (shared) changed.name = copies.at(r.name);
    const std::set<std::string> hidden(changed.params.begin(), changed.params.end());
    changed.body = rewriter(changed.body, &hidden);
    out.rules.push_back(std::move(changed));
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (!selected[n]) continue;
    out.instructions[n] = edit(k.instructions[n], [&](Instruction& i) {
      for (Expr& e : i.lhs) e = rewriter(e);
      i.rhs = rewriter(i.rhs);
      for (Expr& e : i.predicates) e = rewriter(e);
      std::vector<std::string> gained;
      for (const std::string& o : rw.old)
        if (i.inames.erase(o)) {
          const std::vector<std::string>& pieces = rw.bound.at(o);
          gained.insert(gained.end(), pieces.begin(), pieces.end());
        }
      i.inames.insert(gained.begin(), gained.end());
      compose_origin(i, rw.old_in_new, all_inames(k, *k.instructions[n]));
    });
  }
  rewrite_order(rw, whole, out);
  if (whole)
    for (const std::string& o : rw.old) {
      out.iname_tags.erase(o);
      if (out.slabs.erase(o) && !rw.slabs_pass_on)
        refuse("lost-slabs", k.at,
               "`{}` has slabs, which are first and last iterations of that loop alone; change the "
               "loop first, and ask for slabs with the last split",
               o);
    }
  return out;
}

namespace {

void check_reductions(const Expr& e, const std::vector<std::string>& inames,
                      const std::string& doing) {
  if (!e) return;
  walk(e, [&](const Expr& x) {
    const Reduce* r = x.as<Reduce>();
    if (!r) return true;
    std::vector<std::string> in, out;
    for (const std::string& i : inames) (contains(r->inames, i) ? in : out).push_back(i);
    if (!in.empty() && !out.empty())
      refuse("partial-reduction", x.at(), "{}: the reduction `{}` is over {} but not over {}",
             doing, to_string(x), quoted_list(in), quoted_list(out));
    return true;
  });
}

}  // namespace

void require_all_or_none(const Kernel& k, const std::vector<std::string>& inames,
                         const Match& within, const std::string& doing) {
  for (const InsnPtr& insn : k.instructions) {
    if (!within.everything() && !within(k, *insn)) continue;
    for_each_expr(*insn, [&](const Expr& e) { check_reductions(e, inames, doing); });
    std::vector<std::string> in, out;
    for (const std::string& i : inames) (insn->inames.contains(i) ? in : out).push_back(i);
    if (!in.empty() && !out.empty())
      refuse("some-not-all", insn->at, "{}: instruction `{}` is inside the loop over {} but not {}",
             doing, insn->id, quoted_list(in), quoted_list(out));
  }
  for (const Rule& r : k.rules) check_reductions(r.body, inames, doing);
}

}  // namespace moonloop
