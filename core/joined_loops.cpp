#include "core/joined_loops.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/budget.h"
#include "core/domain.h"

namespace moonloop {
namespace {

/// Of all that a call does. Where joining takes more, the loops are asked as they are.
constexpr unsigned long kJoinOperations = kPhaseOperations / 5;

// ---- Sums and choices.

using Term = std::pair<std::int64_t, Expr>;

/// The terms of a sum as index_add() writes it, the constant with an empty expression.
std::vector<Term> terms_of(const Expr& e) {
  if (const auto v = as_int(e)) return {{*v, Expr()}};
  if (const Expr* arg = negated(e)) {
    std::vector<Term> out = terms_of(*arg);
    for (Term& t : out) t.first = -t.first;
    return out;
  }
  const Nary* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add) {
    std::vector<Term> out;
    for (const Expr& t : n->terms)
      for (Term& x : terms_of(t)) out.push_back(std::move(x));
    return out;
  }
  if (n && n->op == NaryOp::Mul && n->terms.size() == 2)
    if (const auto factor = as_int(n->terms[0])) return {{*factor, n->terms[1]}};
  return {{1, e}};
}

Expr sum_of(const std::vector<Term>& terms) {
  Exprs out;
  for (const auto& [factor, e] : terms) out.push_back(e ? index_mul(lit(factor), e) : lit(factor));
  return index_add(out);
}

/// `values[0] if conditions[0] else values[1] if ... else values.back()`.
struct Choice {
  Exprs conditions, values;

  static Choice of(const Expr& select) {
    Choice out;
    const Expr* e = &select;
    for (const Select* s = e->as<Select>(); s; s = e->as<Select>()) {
      out.conditions.push_back(s->cond);
      out.values.push_back(s->yes);
      e = &s->no;
    }
    out.values.push_back(*e);
    return out;
  }
  Expr expr() const {
    Expr out = values.back();
    for (std::size_t c = conditions.size(); c-- > 0;)
      out = Expr(Select{conditions[c], values[c], out});
    return out;
  }
  /// What the conditions read.
  std::set<std::string> chosen_by() const {
    std::set<std::string> out;
    for (const Expr& c : conditions) collect_vars(c, out);
    return out;
  }
  bool of_numbers() const {
    return std::none_of(values.begin(), values.end(), [](const Expr& e) {
      const auto* u = e.as<Unary>();
      const auto* n = e.as<Nary>();
      return e.as<Compare>() || e.as<BoolLit>() || (u && u->op == UnaryOp::Not) ||
             (n && (n->op == NaryOp::And || n->op == NaryOp::Or));
    });
  }
};

/// Sums flat, and what the values of a choice have in common outside of it: the first one, and a
/// factor of what they are apart from it.
Expr normal(const Expr& e) {
  if (e.as<Select>()) {
    Choice c = Choice::of(e);
    for (Expr& x : c.conditions) x = normal(x);
    for (Expr& x : c.values) x = normal(x);
    if (!c.of_numbers()) return c.expr();
    const Expr first = c.values[0];
    std::int64_t factor = 0;
    for (Expr& x : c.values) {
      x = index_sub(x, first);
      for (const Term& t : terms_of(x)) factor = std::gcd(factor, t.first);
    }
    if (factor == 0) return first;
    for (Expr& x : c.values) {
      std::vector<Term> terms = terms_of(x);
      for (Term& t : terms) t.first /= factor;
      x = sum_of(terms);
    }
    return index_add({first, index_mul(lit(factor), c.expr())});
  }
  const Expr inside = map_children(e, normal);
  const auto* n = inside.as<Nary>();
  const bool linear = n ? n->op == NaryOp::Add || n->op == NaryOp::Mul : negated(inside) != nullptr;
  return linear ? index_add({inside}) : inside;
}

std::set<std::string> vars_of(const Expr& e) {
  std::set<std::string> out;
  collect_vars(e, out);
  return out;
}

bool names(const Exprs& exprs, const std::string& iname) {
  return std::any_of(exprs.begin(), exprs.end(),
                     [&](const Expr& e) { return vars_of(e).contains(iname); });
}

/// A sum to be replaced: a choice that says where a piece begins, and the loop within the piece.
struct Cut {
  Expr choice;
  std::string inner;

  std::string key() const { return to_string(choice) + " + " + inner; }
};

/// All sums of a choice by some of `inames` and another one of them, the rightmost choices first:
/// of pieces of pieces these are the inner ones.
std::vector<Cut> cuts_in(const Exprs& exprs, const std::vector<std::string>& inames) {
  std::vector<Cut> out;
  std::set<std::string> seen;
  const auto is_iname = [&](const std::string& n) {
    return std::find(inames.begin(), inames.end(), n) != inames.end();
  };
  const auto look = [&](const std::vector<Term>& sum) {
    for (auto t = sum.rbegin(); t != sum.rend(); ++t) {
      if (!t->second || !t->second.as<Select>()) continue;
      const Choice choice = Choice::of(t->second);
      const std::set<std::string> by = choice.chosen_by();
      if (std::none_of(by.begin(), by.end(), is_iname)) continue;
      for (const auto& [factor, e] : sum) {
        const Var* v = e ? e.as<Var>() : nullptr;
        if (!v || factor != t->first || !is_iname(v->name) || names({t->second}, v->name)) continue;
        Cut cut{t->second, v->name};
        if (seen.insert(cut.key()).second) out.push_back(std::move(cut));
      }
    }
  };
  for (const Expr& e : exprs)
    walk(e, [&](const Expr& x) {
      const auto* n = x.as<Nary>();
      if (n && n->op == NaryOp::Add) look(terms_of(x));
      return true;
    });
  return out;
}

Expr replaced(const Expr& e, const Cut& cut, const std::string& by) {
  return rewrite(e, [&](const Expr& x) {
    const auto* n = x.as<Nary>();
    if (!n || n->op != NaryOp::Add) return x;
    std::vector<Term> terms = terms_of(x);
    const auto choice = std::find_if(terms.begin(), terms.end(), [&](const Term& t) {
      return t.second && equal(t.second, cut.choice);
    });
    if (choice == terms.end()) return x;
    const auto inner = std::find_if(terms.begin(), terms.end(), [&](const Term& t) {
      const Var* v = t.second ? t.second.as<Var>() : nullptr;
      return v && v->name == cut.inner && t.first == choice->first;
    });
    if (inner == terms.end()) return x;
    inner->second = var(by);
    terms.erase(choice);
    return sum_of(terms);
  });
}

// ---- Sets.

Set where(CompareOp op, const Expr& a, const Expr& b, const std::vector<std::string>& dims) {
  auto points = to_condition(Expr(Compare{op, a, b}), dims);
  if (!points) throw IslError("a piece does not begin at an affine value");
  return std::move(*points);
}

/// The points where each value of the choice is the one chosen.
std::vector<Set> branches(const Choice& choice, Set points,
                          const std::vector<std::string>& inames) {
  std::vector<Set> out;
  for (const Expr& c : choice.conditions) {
    const auto here = to_condition(c, inames);
    if (!here) throw IslError("a choice is not by affine conditions");
    out.push_back(isl_set_intersect(points.copy(), here->copy()));
    points = isl_set_subtract(points.take(), here->copy());
  }
  out.push_back(std::move(points));
  return out;
}

/// The points where `a` is negative.
Set below_zero(const Aff& a) { return isl_set_from_basic_set(isl_aff_neg_basic_set(a.copy())); }

bool are_disjoint(const Set& a, const Set& b) {
  return yes(isl_set_is_empty(Set(isl_set_intersect(a.copy(), b.copy())).get()));
}

/// Where the pieces of a loop begin, and what the loop may end at.
struct Ends {
  std::vector<Set> from, before;  // points from the beginning of a piece on; points before it
  std::vector<Set> below, above;  // points below a candidate for the end; those that are not
  std::vector<Set> backward;      // where the next piece begins before a piece

  Ends(const std::string& iname, const Choice& starts, const std::vector<std::string>& dims) {
    for (const Expr& e : starts.values) {
      from.push_back(where(CompareOp::Le, e, var(iname), dims));
      before.push_back(isl_set_complement(from.back().copy()));
    }
    for (std::size_t c = 0; c + 1 < starts.values.size(); ++c)
      backward.push_back(where(CompareOp::Lt, starts.values[c + 1], starts.values[c], dims));
    Exprs seen;  // what is divided up
    walk(starts.expr(), [&](const Expr& e) {
      const auto* b = e.as<Binary>();
      if (!b || (b->op != BinaryOp::FloorDiv && b->op != BinaryOp::Mod) ||
          std::any_of(seen.begin(), seen.end(), [&](const Expr& x) { return equal(x, b->left); }))
        return true;
      seen.push_back(b->left);
      below.push_back(where(CompareOp::Lt, var(iname), b->left, dims));
      above.push_back(where(CompareOp::Ge, var(iname), b->left, dims));
      return true;
    });
  }
};

/// The union of pieces where it is convex and cut where they begin: piece `c` has the points from
/// its beginning on, before that of piece `c + 1`.
class ConvexUnion {
 public:
  ConvexUnion(std::vector<Set> pieces, const Ends& ends) : pieces_(std::move(pieces)), ends_(ends) {
    for (std::size_t c = 0; c < pieces_.size(); ++c) {
      pieces_[c] = isl_set_remove_redundancies(pieces_[c].take());
      if (!yes(isl_set_is_empty(pieces_[c].get()))) used_.push_back(c);
    }
  }

  /// Whether each piece begins where it should and ends before the next one begins, which is not
  /// before it: the order of values is that of the pieces.
  bool in_order() const {
    for (std::size_t c = 0; c < pieces_.size(); ++c) {
      if (!are_disjoint(pieces_[c], ends_.before[c])) return false;
      if (c + 1 == pieces_.size()) break;
      if (!are_disjoint(pieces_[c], ends_.from[c + 1]) || !misses_all(ends_.backward[c]))
        return false;
    }
    return true;
  }

  std::optional<Set> find() {
    if (used_.empty()) return pieces_[0];
    const std::size_t first = used_[0];
    if (!misses_all(ends_.before[first])) return std::nullopt;
    all_ = ends_.from[first];
    for (std::size_t e = 0; e < ends_.below.size(); ++e)
      if (misses_all(ends_.above[e])) all_ = isl_set_intersect(all_.take(), ends_.below[e].copy());
    // A bound may be written in some pieces alone where the others' bounds imply it.
    for (const std::size_t c : {first, used_.back()}) {
      const std::vector<BasicSet> parts = parts_of(pieces_[c]);
      if (parts.size() != 1) return std::nullopt;
      for (const Constraint& g : constraints_of(parts[0]))
        if (holds(g, c)) {
          const Set bound = isl_set_from_basic_set(isl_basic_set_from_constraint(g.copy()));
          all_ = isl_set_intersect(all_.take(), bound.copy());
        }
      if (is_all()) return all_;
    }
    return std::nullopt;
  }

 private:
  /// Whether the constraint, one of piece `own`, holds in all pieces.
  bool holds(const Constraint& g, std::size_t own) const {
    const Aff value = isl_constraint_get_aff(g.get());
    if (!misses_all(below_zero(value), own)) return false;
    return !yes(isl_constraint_is_equality(g.get())) ||
           misses_all(below_zero(isl_aff_neg(value.copy())), own);
  }

  /// The last pieces first: where the first one ends they go on.
  bool misses_all(const Set& s, std::optional<std::size_t> but = {}) const {
    return std::all_of(used_.rbegin(), used_.rend(),
                       [&](std::size_t c) { return c == but || are_disjoint(pieces_[c], s); });
  }

  /// Whether all points are in some piece. Each is in the range of the last piece that begins at or
  /// before it.
  bool is_all() const {
    for (std::size_t c = used_[0]; c < pieces_.size(); ++c) {
      Set range = isl_set_intersect(all_.copy(), ends_.from[c].copy());
      if (c + 1 < pieces_.size())
        range = isl_set_intersect(range.take(), ends_.before[c + 1].copy());
      if (!yes(isl_set_is_subset(range.get(), pieces_[c].get()))) return false;
    }
    return true;
  }

  std::vector<Set> pieces_;
  const Ends& ends_;
  std::vector<std::size_t> used_;  // those that are not empty
  Set all_;
};

}  // namespace

/// Instances by the values that the choices take there: as many cells as there are combinations.
struct LoopJoiner::State {
  std::vector<std::string> inames;
  Exprs choices;
  std::map<std::vector<std::size_t>, Set> cells;
  std::map<std::string, std::vector<std::string>> numbered;  // what joined inames stand for

  State(const Kernel& k, std::vector<std::string> loops, Exprs by)
      : inames(std::move(loops)), choices(std::move(by)) {
    cells.emplace(std::vector<std::size_t>(), domain_of(k, inames));
    for (const Expr& choice : choices) {
      std::map<std::vector<std::size_t>, Set> finer;
      for (auto& [key, points] : cells) {
        std::vector<Set> parts = branches(Choice::of(choice), points, inames);
        for (std::size_t c = 0; c < parts.size(); ++c) {
          std::vector<std::size_t> at = key;
          at.push_back(c);
          finer.emplace(std::move(at), std::move(parts[c]));
        }
      }
      cells = std::move(finer);
    }
  }

  /// The iname that numbers the pieces, in order and each by one value; empty if there is none.
  std::string number_of(const Choice& choice, std::size_t at) const {
    std::string number;
    std::int64_t least = 0;
    for (std::size_t c = 0; c < choice.conditions.size(); ++c) {
      const Compare* x = choice.conditions[c].as<Compare>();
      const Var* v = x && x->op == CompareOp::Eq ? x->left.as<Var>() : nullptr;
      const auto value = v ? as_int(x->right) : std::nullopt;
      if (!value) return "";
      if (c == 0) number = v->name, least = *value;
      if (v->name != number || *value != least + std::int64_t(c)) return "";
    }
    const std::size_t last = choice.conditions.size();
    const Set other = where(CompareOp::Ne, var(number), lit(least + std::int64_t(last)), inames);
    for (const auto& [key, points] : cells)
      if (key[at] == last && !are_disjoint(points, other)) return "";
    return number;
  }

  /// Without what divides the loop up. Null where the pieces are not those of one loop, or not in
  /// order where they have to be.
  std::shared_ptr<const State> without(const Cut& cut, const std::string& iname,
                                       bool in_order) const {
    const auto it = std::find_if(choices.begin(), choices.end(),
                                 [&](const Expr& e) { return equal(e, cut.choice); });
    if (it == choices.end()) return nullptr;  // a new one: something in it was joined
    const auto n = static_cast<std::size_t>(it - choices.begin());
    const Choice choice = Choice::of(cut.choice);
    State out = *this;
    const std::set<std::string> by = choice.chosen_by();
    std::erase_if(out.inames, [&](const std::string& i) { return by.contains(i); });
    std::replace(out.inames.begin(), out.inames.end(), cut.inner, iname);
    out.choices.erase(out.choices.begin() + static_cast<std::ptrdiff_t>(n));

    std::vector<std::string> all = inames;
    all.push_back(iname);
    std::map<std::vector<std::size_t>, std::vector<Set>> groups;
    for (const auto& [key, points] : cells) {  // in order of the pieces within each group
      const Expr& start = choice.values[key[n]];
      Set s = isl_set_intersect(
          to_dims(points, all).take(),
          where(CompareOp::Eq, var(iname), index_add({start, var(cut.inner)}), all).take());
      std::vector<std::size_t> rest = key;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(n));
      groups[rest].push_back(to_dims(std::move(s), out.inames));
    }
    if (in_order) {
      const std::string number = number_of(choice, n);
      if (number.empty() || std::any_of(inames.begin(), inames.end(), [&](const std::string& i) {
            return names(choice.values, i);
          }))
        return nullptr;
      std::vector<std::string>& stands_for = out.numbered[iname];
      stands_for.push_back(number);
      if (const auto inner = numbered.find(cut.inner); inner != numbered.end()) {
        stands_for.insert(stands_for.end(), inner->second.begin(), inner->second.end());
        out.numbered.erase(cut.inner);
      } else {
        stands_for.push_back(cut.inner);
      }
    }
    const Ends ends(iname, choice, out.inames);
    out.cells.clear();
    for (auto& [key, pieces] : groups) {
      ConvexUnion whole(std::move(pieces), ends);
      if (in_order && !whole.in_order()) return nullptr;
      auto joined = whole.find();
      if (!joined) return nullptr;
      out.cells.emplace(key, std::move(*joined));
    }
    return std::make_shared<const State>(std::move(out));
  }

  /// With one iname in place of the sum; what chooses the piece stays.
  std::shared_ptr<const State> with_value(const Cut& cut, const std::string& iname) const {
    State out = *this;
    std::replace(out.inames.begin(), out.inames.end(), cut.inner, iname);
    std::vector<std::string> all = inames;
    all.push_back(iname);
    const Set value =
        where(CompareOp::Eq, var(iname), index_add({cut.choice, var(cut.inner)}), all);
    for (auto& [key, points] : out.cells)
      points = to_dims(isl_set_intersect(to_dims(points, all).take(), value.copy()), out.inames);
    return std::make_shared<const State>(std::move(out));
  }
};

namespace {

bool has_choice(const Exprs& exprs) {
  return std::any_of(exprs.begin(), exprs.end(), [](const Expr& e) { return e.holds<Select>(); });
}

}  // namespace

std::optional<Joined> LoopJoiner::join(const std::vector<std::string>& inames, const Exprs& exprs) {
  if (!has_choice(exprs)) return std::nullopt;
  std::string key;
  try {
    const IslBudget budget(kJoinOperations);
    Joined out{{}, {}, exprs};
    const auto state = join_all(inames, out.exprs, false, key);
    if (!state) return std::nullopt;
    out.inames = state->inames;
    for (const auto& [at, points] : state->cells)
      out.instances =
          out.instances ? Set(isl_set_union(out.instances.take(), points.copy())) : points;
    return out;
  } catch (const Error&) {  // numbers too large, or too many operations
  } catch (const IslError&) {}
  known_.insert_or_assign(key, nullptr);
  return std::nullopt;  // the loops are asked as they are
}

std::optional<LoopJoiner::Numbers> LoopJoiner::numbers(const Expr& value) {
  if (!has_choice({value})) return std::nullopt;
  std::vector<std::string> inames;
  for (const std::string& n : vars_of(value)) {
    if (k_.find_temporary(n)) return std::nullopt;  // it may change from instance to instance
    if (k_.has_iname(n)) inames.push_back(n);
  }
  std::string key;
  try {
    const IslBudget budget(kJoinOperations);
    Exprs exprs{value};
    const auto state = join_all(inames, exprs, true, key);
    if (!state) return std::nullopt;
    return Numbers{exprs[0], state->numbered};
  } catch (const Error&) {
  } catch (const IslError&) {}
  known_.insert_or_assign(key, nullptr);
  return std::nullopt;
}

/// The last state, with `exprs` in its inames; null if nothing was joined. `start` is the key of
/// the first one. `in_order`: only what numbers() wants.
std::shared_ptr<const LoopJoiner::State> LoopJoiner::join_all(
    const std::vector<std::string>& inames, Exprs& exprs, bool in_order, std::string& start) {
  for (Expr& e : exprs) e = normal(e);
  std::string key = fmt::format("{}", fmt::join(inames, ","));
  Exprs choices;
  std::size_t cells = 1;
  constexpr std::size_t kMostCells = 300;
  for (const Cut& cut : cuts_in(exprs, inames)) {
    if (std::any_of(choices.begin(), choices.end(),
                    [&](const Expr& e) { return equal(e, cut.choice); }))
      continue;
    choices.push_back(cut.choice);
    key += "|" + to_string(cut.choice);
    cells *= Choice::of(cut.choice).values.size();
    if (cells > kMostCells) return nullptr;
  }
  if (choices.empty()) return nullptr;
  start = key;
  auto known = known_.find(key);
  if (known == known_.end())
    known = known_.emplace(key, std::make_shared<const State>(k_, inames, choices)).first;
  std::shared_ptr<const State> state = known->second;
  if (!state) return nullptr;

  bool any = false;
  const auto step = [&](bool whole) {
    for (const Cut& cut : cuts_in(exprs, state->inames)) {
      const std::string iname = cut.inner + "'";
      Exprs next;
      for (const Expr& e : exprs) next.push_back(replaced(e, cut, iname));
      if (names(next, cut.inner)) continue;
      const Choice choice = Choice::of(cut.choice);
      const std::set<std::string> by = choice.chosen_by();
      const auto is_needed = [&](const std::string& i) {
        return by.contains(i) && (names(next, i) || names(choice.values, i));
      };
      if (whole && std::any_of(state->inames.begin(), state->inames.end(), is_needed)) continue;
      const std::string next_key = fmt::format("{}|{} {}", key,
                                               !whole     ? "name"
                                               : in_order ? "order"
                                                          : "join",
                                               cut.key());
      auto it = known_.find(next_key);
      if (it == known_.end())
        it = known_
                 .emplace(next_key, whole ? state->without(cut, iname, in_order)
                                          : state->with_value(cut, iname))
                 .first;
      if (!it->second) continue;
      state = it->second;
      key = next_key;
      exprs = std::move(next);
      return any = true;
    }
    return false;
  };
  while (step(true)) {}
  while (!in_order && step(false)) {}
  return any ? state : nullptr;
}

}  // namespace moonloop
