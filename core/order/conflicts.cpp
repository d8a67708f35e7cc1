#include "core/order/conflicts.h"

#include <algorithm>

#include "core/model/memo.h"
#include "core/model/mixed_radix.h"
#include "core/order/two_instances.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// How many parts the instances of two statements may have: their pairs have the product of these
/// numbers, times that of the subscripts.
constexpr isl_size kMostParts = 40;

ApproximateSet without_computed_but(const Kernel& k, Set s, const std::set<std::string>& but) {
  return without_computed(k, std::move(s), [&](const std::string& p) { return but.contains(p); });
}

/// Scalars that bound loops and that one statement sets, in no loop: all loops find one value.
std::set<std::string> set_once(const Kernel& k, const Variables& variables) {
  std::set<std::string> bounds, seen;
  if (!variables.any_bounds()) return bounds;
  for (const Domain& d : k.domains)
    for (std::string& p : d.params()) {
      const Temporary* t = k.find_temporary(p);
      if (t && !t->initializer) bounds.insert(std::move(p));
    }
  for (const InsnPtr& i : k.instructions)
    for (const std::string& w : writes(*i))
      if (!seen.insert(w).second || !i->inames.empty()) bounds.erase(w);
  return bounds;
}

/// The instances without the instruction's predicates: some may not run.
Set possible_instances(const Kernel& k, const std::vector<std::string>& dims,
                       const std::set<std::string>& but) {
  return without_computed_but(k, domain_of(k, dims), but).all;
}

/// Inames that are equal wherever the values of the expression are.
std::vector<std::string> numbering_inames(const Kernel& k, const Expr& e) {
  if (const auto found = plain_digits(k, e)) return *found;
  if (!e.holds<Select>()) return {};
  std::set<std::string> names;
  collect_vars(e, names);
  std::vector<std::string> inames;
  for (const std::string& n : names)
    if (k.has_iname(n)) inames.push_back(n);
  try {
    const IslBudget budget(kQuestionOperations);
    return piece_digits(k, e, domain_of(k, inames),
                        [&](const std::string& i) { return plain_range(k, i); })
        .value_or(std::vector<std::string>());
  } catch (const IslQuota&) { return {}; }
}

using NamePairs = std::vector<std::pair<std::string, std::string>>;
/// Adds the variables in equal places of expressions that are alike but for these; false: they are
/// not, and some may be missing.
bool pair_variables(const Expr& a, const Expr& b, NamePairs& out) {
  const auto *v = a.as<Var>(), *w = b.as<Var>();
  if (v && w) {
    out.emplace_back(v->name, w->name);
    return true;
  }
  const auto all = [&](const Exprs& x, const Exprs& y) {
    bool alike = x.size() == y.size();
    for (std::size_t i = 0; alike && i < x.size(); ++i) alike = pair_variables(x[i], y[i], out);
    return alike;
  };
  const auto *n = a.as<Nary>(), *m = b.as<Nary>();
  if (n && m) return n->op == m->op && all(n->terms, m->terms);
  const auto *c = a.as<Binary>(), *d = b.as<Binary>();
  if (c && d) return c->op == d->op && all({c->left, c->right}, {d->left, d->right});
  return equal(a, b);
}

/// Numbers are equal only where their digits are, as of `128*turn + 4*lane + i`: shows the last
/// ones of `apart` to be 0 first, and with those the ones before. Each that is shown holds from
/// then on.
void settle_digits(LinearProof& pairs, std::vector<LinearForm> apart) {
  std::reverse(apart.begin(), apart.end());
  const auto is_settled = [&](const LinearForm& f) {
    for (const std::int64_t sign : {-1, 1}) {
      std::optional<LinearForm> beyond = weighted_sum(sign, f, 0, {});
      if (!beyond) return false;
      --beyond->constant;
      LinearProof differ = pairs;
      differ.not_negative(*beyond);
      if (!differ.impossible()) return false;
    }
    pairs.zero(f);
    return true;
  };
  while (std::erase_if(apart, is_settled) > 0) {}
}

}  // namespace

ApproximateSet instances_of(const Kernel& k, const Instruction& insn,
                            const std::vector<std::string>& dims,
                            const std::set<std::string>& but) {
  Set d = domain_of(k, dims);
  bool all_affine = true;
  for (const Expr& p : insn.predicates) {
    const std::optional<Set> holds = to_condition(k, p, dims);
    if (holds)
      d = memo().made("both " + memo().name(d) + memo().name(*holds),
                      [&] { return Set(isl_set_intersect(d.copy(), holds->copy())); });
    else
      all_affine = false;
  }
  ApproximateSet out = without_computed_but(k, std::move(d), but);
  out.exact = out.exact && all_affine;
  return out;
}

Conflicts::Conflicts(const Kernel& k) : k_(k), variables_(k), set_once_(set_once(k, variables_)) {
  for (const InsnPtr& i : k.instructions) dims_.emplace_back(i->inames.begin(), i->inames.end());
  instances_.resize(dims_.size());
}

const ApproximateSet& Conflicts::instances(int insn) {
  ApproximateSet& out = instances_[std::size_t(insn)];
  if (out.all) return out;
  out = instances_of(k_, *k_.instructions[std::size_t(insn)], dims(insn), set_once_);
  if (isl_set_n_basic_set(out.all.get()) > kMostParts)
    out = {possible_instances(k_, dims(insn), set_once_), false};
  return out;
}

int Conflicts::place(int insn, const std::string& iname) const {
  const auto& all = dims(insn);
  const auto it = std::find(all.begin(), all.end(), iname);
  return it == all.end() ? -1 : static_cast<int>(it - all.begin());
}

ApproximateMap Conflicts::pairs(const StatementAccess& x, const StatementAccess& y) {
  ApproximateMap out = meetings(k_, k_, variables_, x, dims(x.insn), y, dims(y.insn));
  out.intersect_domain(instances(x.insn));
  out.intersect_range(instances(y.insn));
  if (!out.exact && x.insn == y.insn) out.all = with_known_scalars(x, y, std::move(out.all));
  return out;
}

const std::vector<int>& Conflicts::writers(const std::string& scalar) {
  if (!writers_) {
    writers_.emplace();
    for (std::size_t i = 0; i < k_.instructions.size(); ++i)
      for (const std::string& n : writes(*k_.instructions[i])) {
        const Temporary* t = k_.find_temporary(n);
        if (t && (!t->shape || t->shape->empty())) (*writers_)[n].push_back(static_cast<int>(i));
      }
  }
  static const std::vector<int> kNone;
  const auto it = writers_->find(scalar);
  return it == writers_->end() ? kNone : it->second;
}

Map Conflicts::with_known_scalars(const StatementAccess& x, const StatementAccess& y, Map pairs) {
  std::set<std::string> names, loops;
  for (const StatementAccess* access : {&x, &y})
    for (const Expr& e : access->index) collect_reads(e, names);
  const std::vector<std::string>& own = dims(x.insn);
  std::map<std::string, std::string> known;  // by name: under one that no variable has
  for (const std::string& n : names) {
    const bool around = std::all_of(writers(n).begin(), writers(n).end(), [&](int w) {
      return std::includes(own.begin(), own.end(), dims(w).begin(), dims(w).end());
    });
    if (writers(n).empty() || !around) continue;
    known.emplace(n, n + "'");
    for (const int w : writers(n)) loops.insert(dims(w).begin(), dims(w).end());
  }
  if (known.empty() || loops.size() == own.size()) return pairs;
  const std::vector<std::string> shared(loops.begin(), loops.end());
  StatementAccess a = x, b = y;
  for (StatementAccess* access : {&a, &b})
    for (Expr& e : access->index) e = rename(e, known);
  Map meeting = conflict_map(k_, variables_, a, own, b, own).all;
  for (const auto& [name, value] : known) {
    const int at = isl_map_find_dim_by_name(meeting.get(), isl_dim_param, value.c_str());
    if (at >= 0) meeting = isl_map_project_out(meeting.take(), isl_dim_param, unsigned(at), 1);
  }
  const Map apart = in_different(pairs, x, y, shared);
  const Map same =
      isl_map_intersect(in_equal(std::move(pairs), x, y, shared).take(), meeting.take());
  return isl_map_union(same.copy(), apart.copy());
}

Map Conflicts::in_equal(Map pairs, const StatementAccess& x, const StatementAccess& y,
                        const std::vector<std::string>& loops) const {
  for (const std::string& n : loops) {
    const int a = place(x.insn, n), b = place(y.insn, n);
    if (a >= 0 && b >= 0) pairs = equate(std::move(pairs), std::size_t(a), std::size_t(b));
  }
  return pairs;
}

std::optional<Map> Conflicts::in_later(Map pairs, const StatementAccess& x,
                                       const StatementAccess& y, const std::string& loop) const {
  const int a = place(x.insn, loop), b = place(y.insn, loop);
  if (a < 0 || b < 0) return std::nullopt;
  return order_lt(std::move(pairs), std::size_t(a), std::size_t(b));
}

Map Conflicts::in_different(Map pairs, const StatementAccess& x, const StatementAccess& y,
                            const std::vector<std::string>& names) const {
  // Of few constraints: isl subtracts them one by one.
  Map equal = in_equal(isl_map_universe(isl_map_get_space(pairs.get())), x, y, names);
  return isl_map_subtract(pairs.take(), equal.take());
}

std::optional<bool> Conflicts::plainly_agree(const StatementAccess& x, const StatementAccess& y,
                                             const std::vector<std::string>& same,
                                             const std::string& carried, const Values& equal,
                                             const Values* also) {
  TwoInstances two;
  if (!two.add(0, dims(x.insn), instances(x.insn).all) ||
      !two.add(1, dims(y.insn), instances(y.insn).all))
    return std::nullopt;
  const auto fixed = [&](const std::string& name) {
    return !variables_.has(name) && !k_.find_temporary(name) && !k_.has_iname(name);
  };
  const auto later = [&](const Expr& a, const Expr& b) -> std::optional<LinearForm> {
    const auto f = two.value(a, two.values(0), fixed), g = two.value(b, two.values(1), fixed);
    if (f && g)
      if (auto d = weighted_sum(1, *g, -1, *f)) return d;
    two.exact = false;
    return std::nullopt;
  };
  for (const std::string& n : same)
    if (place(x.insn, n) >= 0 && place(y.insn, n) >= 0)
      if (const auto d = later(var(n), var(n))) two.proof.zero(*d);
  for (const auto& [a, b] : equal)
    if (const auto d = later(a, b)) two.proof.zero(*d);
  std::vector<LinearForm> apart;
  if (also)
    for (const auto& [a, b] : *also) {
      auto d = later(a, b);
      if (!d) return std::nullopt;
      apart.push_back(std::move(*d));
    }
  Access at_x = x, at_y = y;
  for (const int side : {0, 1}) {
    Access& made = side == 0 ? at_x : at_y;
    if (two.at(side, where_made(k_, made, dims(side == 0 ? x.insn : y.insn)))) made.when = {};
  }
  two.meet(at_x, two.values(0), at_y, two.values(1), variables_, fixed);
  two.take_in();
  if (!carried.empty())
    if (auto d = later(var(carried), var(carried))) {
      --d->constant;
      two.proof.not_negative(*d);
    }
  std::optional<bool> agree = true;
  if (also) {
    agree = keeps_apart(two.proof, apart, {}, false);
    if (!agree) {
      NamePairs digits;
      for (std::size_t i = 0; i < std::min(x.index.size(), y.index.size()); ++i)
        pair_variables(x.index[i], y.index[i], digits);
      std::vector<LinearForm> all;
      const bool exact = two.exact;
      for (const auto& [a, b] : digits)
        if (const auto d = later(var(a), var(b))) all.push_back(*d);
      two.exact = exact;
      settle_digits(two.proof, std::move(all));
      agree = keeps_apart(two.proof, apart, {}, false);
    }
  } else if (const std::optional<bool> some = two.proof.any(); some != false)
    agree = some ? std::optional(false) : std::nullopt;
  return two.exact || agree == true ? agree : std::nullopt;
}

bool plainly_apart(const Exprs& a, const Exprs& b) {
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d) {
    const auto x = as_int(a[d]), y = as_int(b[d]);
    if (x && y && *x != *y) return true;
  }
  return false;
}

bool plainly_apart(const Access& a, const Access& b) {
  if (!covers_field(a.field, b.field) && !covers_field(b.field, a.field)) return true;
  return plainly_apart(a.index, b.index);
}

bool Conflicts::tells(const Exprs& index, const std::vector<std::string>& names) {
  const auto digits_of = [&](const Expr& e) -> const std::vector<std::string>& {
    const auto [it, fresh] = digits_.try_emplace(e.identity());
    if (fresh) it->second = {e, numbering_inames(k_, e)};
    return it->second.second;
  };
  return std::all_of(names.begin(), names.end(), [&](const std::string& n) {
    return std::any_of(index.begin(), index.end(), [&](const Expr& e) {
      const auto* v = e.as<Var>();
      if (v) return v->name == n;
      const std::vector<std::string>& d = digits_of(e);
      return std::find(d.begin(), d.end(), n) != d.end();
    });
  });
}

}  // namespace moonloop
