#include "core/model/joined_loops.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/expr/piece_starts.h"
#include "core/model/domain.h"
#include "core/model/mixed_radix.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// For a whole call. Where joining takes more, the loops are used as they are.
constexpr unsigned long kJoinOperations = kPhaseOperations / 5;

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

/// The same in time linear in the parts of `points` where each has one number.
std::vector<Set> numbered_branches(const Choice& choice, const Set& points,
                                   const std::vector<std::string>& inames) {
  const auto numbers = numbers_of(choice);
  const Var* number = numbers ? numbers->number.as<Var>() : nullptr;
  const int at =
      number ? isl_set_find_dim_by_name(points.get(), isl_dim_set, number->name.c_str()) : -1;
  if (at < 0) return branches(choice, points, inames);
  const Set none = isl_set_empty(isl_set_get_space(points.get()));
  std::vector<Set> out(choice.values.size(), none);
  Set others = none;
  for (const BasicSet& part : parts_of(points)) {
    const Set here = isl_set_from_basic_set(part.copy());
    const Val fixed =
        isl_set_plain_get_val_if_fixed(here.get(), isl_dim_set, static_cast<unsigned>(at));
    if (!yes(isl_val_is_int(fixed.get()))) {
      others = isl_set_union(others.take(), here.copy());
      continue;
    }
    const auto& all = numbers->values;
    const auto it = std::find(all.begin(), all.end(), to_int(fixed));
    Set& to = out[static_cast<std::size_t>(it - all.begin())];  // the last where it is none
    to = isl_set_union(to.take(), here.copy());
  }
  if (yes(isl_set_plain_is_empty(others.get()))) return out;
  const std::vector<Set> rest = branches(choice, others, inames);
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = isl_set_union(out[c].take(), rest[c].copy());
  return out;
}

/// The points where `a` is negative.
Set below_zero(const Aff& a) { return isl_set_from_basic_set(isl_aff_neg_basic_set(a.copy())); }

bool are_disjoint(const Set& a, const Set& b) {
  return yes(isl_set_is_empty(Set(isl_set_intersect(a.copy(), b.copy())).get()));
}

/// Where the pieces of a loop begin, and where the loop may end.
struct Ends {
  std::vector<Set> from, before;  // points from the beginning of a piece on; points before it
  std::vector<Set> below, above;  // points below a candidate for the end; those that are not

  Ends(const std::string& iname, const Choice& starts, const std::vector<std::string>& dims) {
    for (const Expr& e : starts.values) {
      from.push_back(where(CompareOp::Le, e, var(iname), dims));
      before.push_back(isl_set_complement(from.back().copy()));
    }
    Exprs seen;  // the dividends
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
  bool in_order(const Choice& starts, const std::vector<std::string>& dims) const {
    for (std::size_t c = 0; c < pieces_.size(); ++c) {
      if (!are_disjoint(pieces_[c], ends_.before[c])) return false;
      if (c + 1 == pieces_.size()) break;
      const Set backward = where(CompareOp::Lt, starts.values[c + 1], starts.values[c], dims);
      if (!are_disjoint(pieces_[c], ends_.from[c + 1]) || !misses_all(backward)) return false;
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
    // A bound may be written only in some pieces where the others' bounds imply it.
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

namespace {

/// All iterations of the pieces of a loop, as chunk_iname cuts it.
struct Pieces {
  Set iterations;  // { [number, inner] }, convex: no two of them are one of the loop
  Set range;       // of the loop: { [] }, over its name as a parameter
  Expr number;     // of its iterations
};

/// { [iname] }: a convex set around all its values.
Set range_of(const Kernel& k, const std::string& iname) {
  const Set values = isl_set_remove_divs(to_dims(k.home_of(iname)->set, {iname}).take());
  return isl_set_from_basic_set(isl_set_simple_hull(values.copy()));
}

/// As digits(), with all that is known of the ranges of inames.
std::optional<std::vector<std::string>> number_digits(const Kernel& k, const Expr& number) {
  return digits(number, [&](const std::string& i) -> std::optional<std::int64_t> {
    const Set range = range_of(k, i);
    const Val low = isl_set_dim_min_val(range.copy(), 0),
              high = isl_set_dim_max_val(range.copy(), 0);
    if (!yes(isl_val_is_int(low.get())) || !yes(isl_val_is_int(high.get()))) return std::nullopt;
    return to_int(high) - to_int(low);
  });
}

/// Where `number` numbers the pieces from 0 on, and `name` is the loop. Nothing where chunk_iname
/// did not make them, or several inames may have one number.
std::optional<Pieces> pieces_of(const Kernel& k, const Cut& cut, const Expr& number,
                                const std::string& name) {
  const Choice starts = Choice::of(cut.choice);
  const auto pieces = std::int64_t(starts.values.size());
  const auto even = even_pieces(starts.values);
  if (!even || even->stride != 1) return std::nullopt;
  const Expr& n = even->iterations;
  const auto by = number_digits(k, number);
  if (!by) return std::nullopt;
  std::vector<std::string> dims = *by;
  dims.push_back(cut.inner);
  Pieces out{{}, {}, n};
  const Expr place = index_add({index_mul(lit(pieces), var(cut.inner)), number});
  out.iterations = where(CompareOp::Lt, place, n, dims);
  for (const auto& [lesser, greater] :
       {std::pair(lit(0), number), std::pair(number, lit(pieces - 1)),
        std::pair(lit(0), var(cut.inner))})
    out.iterations = isl_set_intersect(out.iterations.take(),
                                       where(CompareOp::Le, lesser, greater, dims).take());
  if (by->size() > 1)  // they have one number each within these
    for (const std::string& iname : *by)
      out.iterations = intersect(out.iterations, to_dims(range_of(k, iname), dims));
  const Expr end = index_add({starts.values[0], n});
  out.range = isl_set_intersect(where(CompareOp::Le, starts.values[0], var(name), {}).take(),
                                where(CompareOp::Lt, var(name), end, {}).take());
  return out;
}

}  // namespace

/// Instances by the values that the choices take there: as many cells as there are combinations.
struct LoopJoiner::State {
  const Kernel* kernel;
  std::vector<std::string> inames;
  Exprs choices;
  std::map<std::vector<std::size_t>, Set> cells;
  std::map<std::string, std::vector<std::string>> numbered;  // what joined inames stand for

  State(const Kernel& k, const Set& instances, std::vector<std::string> loops, Exprs by)
      : kernel(&k), inames(std::move(loops)), choices(std::move(by)) {
    cells.emplace(std::vector<std::size_t>(), instances);
    for (const Expr& choice : choices) {
      std::map<std::vector<std::size_t>, Set> finer;
      for (auto& [key, points] : cells) {
        std::vector<Set> parts = numbered_branches(Choice::of(choice), points, inames);
        for (std::size_t c = 0; c < parts.size(); ++c) {
          std::vector<std::size_t> at = key;
          at.push_back(c);
          finer.emplace(std::move(at), std::move(parts[c]));
        }
      }
      cells = std::move(finer);
    }
  }

  /// The number of the pieces, in order and each by one value; null if there is none.
  Expr number_of(const Choice& choice, std::size_t at) const {
    const auto numbers = numbers_of(choice);
    if (!numbers) return {};
    const auto& [number, values] = *numbers;
    const std::int64_t least = values[0];
    for (std::size_t c = 0; c < values.size(); ++c)
      if (values[c] != least + std::int64_t(c)) return {};
    const std::size_t last = choice.conditions.size();
    const Set other = where(CompareOp::Ne, number, lit(least + std::int64_t(last)), inames);
    for (const auto& [key, points] : cells)
      if (key[at] == last && !are_disjoint(points, other)) return {};
    return number;
  }
  /// The same where the first one is number 0.
  Expr number_from_zero(const Expr& choice) const {
    const auto it = std::find_if(choices.begin(), choices.end(),
                                 [&](const Expr& e) { return equal(e, choice); });
    const auto numbers = numbers_of(Choice::of(choice));
    if (it == choices.end() || !numbers || numbers->values[0] != 0) return {};
    return number_of(Choice::of(choice), static_cast<std::size_t>(it - choices.begin()));
  }

  bool has(const std::string& iname) const {
    return std::find(inames.begin(), inames.end(), iname) != inames.end();
  }
  bool has_all(const std::set<std::string>& all) const {
    return std::all_of(all.begin(), all.end(), [&](const std::string& i) { return has(i); });
  }
  bool is_within(const Set& all) const {
    const Set there = to_dims(all, inames);
    return std::all_of(cells.begin(), cells.end(), [&](const auto& cell) {
      return yes(isl_set_is_subset(cell.second.get(), there.get()));
    });
  }
  State within(const Set& all) const {
    State out = *this;
    const Set there = to_dims(all, inames);
    for (auto& [at, points] : out.cells) points = intersect(points, there);
    return out;
  }
  Set instances() const {
    Set out;
    for (const auto& [at, points] : cells)
      out = out ? Set(isl_set_union(out.take(), points.copy())) : points;
    return out;
  }

  /// Without what divides the loop up. Null where the pieces are not those of one loop, or not in
  /// order where they must be.
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
      // Known quotients become those of the joined iname.
      Set s = isl_set_intersect(
          isl_set_compute_divs(to_dims(points, all).take()),
          where(CompareOp::Eq, var(iname), index_add({start, var(cut.inner)}), all).take());
      std::vector<std::size_t> rest = key;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(n));
      groups[rest].push_back(to_dims(std::move(s), out.inames));
    }
    if (in_order) {
      const Expr by_one = number_of(choice, n);
      const auto number = by_one ? number_digits(*kernel, by_one) : std::nullopt;
      if (!number || std::any_of(inames.begin(), inames.end(),
                                 [&](const std::string& i) { return names(choice.values, i); }))
        return nullptr;
      std::vector<std::string>& stands_for = out.numbered[iname];
      stands_for.insert(stands_for.end(), number->begin(), number->end());
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
      if (in_order && !whole.in_order(choice, out.inames)) return nullptr;
      auto joined = whole.find();
      if (!joined) return nullptr;
      out.cells.emplace(key, std::move(*joined));
    }
    return std::make_shared<const State>(std::move(out));
  }

  /// With one iname in place of the sum; the choice of the piece stays.
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
  if (auto whole = join_named(inames, exprs)) return whole;
  std::string key;
  try {
    const IslBudget budget(kJoinOperations);
    Joined out{{}, {}, exprs};
    const auto state = join_all(inames, out.exprs, false, key);
    if (!state) return std::nullopt;
    out.inames = state->inames;
    out.instances = state->instances();
    return out;
  } catch (const Error&) {  // numbers too large, or too many operations
  } catch (const IslError&) {}
  known_.insert_or_assign(key, nullptr);
  return std::nullopt;  // the loops are used as they are
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

/// The domain of some loops, or one that it depends on. Joined by itself, which avoids the cases of
/// all domains together.
struct LoopJoiner::Part {
  std::vector<std::string> own;  // inames, with those that stand for them
  std::shared_ptr<const State> state;
};

std::vector<LoopJoiner::Part> LoopJoiner::parts(std::vector<std::string> inames,
                                                const Exprs& exprs) {
  std::vector<Part> out;
  std::set<const Domain*> seen;
  for (std::size_t i = 0; i < inames.size(); ++i) {  // grows by what domains depend on
    const Domain* d = k_.home_of(inames[i]);
    if (!d || !seen.insert(d).second) continue;
    std::vector<std::string> own = d->inames(), all = own;
    for (const std::string& p : d->params())
      if (k_.has_iname(p)) all.push_back(p);
    inames.insert(inames.end(), all.begin(), all.end());
    std::string key = std::to_string(d - k_.domains.data());
    Exprs choices;
    for (const Cut& cut : cuts_in(exprs, all))
      if (std::none_of(choices.begin(), choices.end(),
                       [&](const Expr& e) { return equal(e, cut.choice); }))
        choices.push_back(cut.choice), key += "|" + to_string(cut.choice);
    StatePtr& home = homes_[key];
    if (!home) {
      Set points = to_dims(d->set, all);
      if (k_.assumptions) points = isl_set_intersect_params(points.take(), k_.assumptions.copy());
      home = std::make_shared<const State>(k_, points, all, choices);
    }
    out.push_back({std::move(own), home});
  }
  return out;
}

std::optional<LoopJoiner::InValues> LoopJoiner::in_values(const std::vector<std::string>& inames,
                                                          const Exprs& exprs) {
  if (!has_choice(exprs)) return std::nullopt;
  std::optional<InValues> out;  // none: the loops are used as they are
  in_values_.ask([&] {
    try {
      Exprs now = exprs;
      for (Expr& e : now) e = normal_sums(e);
      std::vector<Part> all = parts(inames, now);
      InValues found;
      std::vector<std::string> dims = inames;
      while (const auto next = name_value(all, now, dims)) {
        const auto& [value, iterations] = *next;
        dims.push_back(value.name);
        found.instances = found.instances ? join_by_name(found.instances, iterations) : iterations;
        found.values.push_back(value);
      }
      if (found.values.empty()) return;
      for (const Part& p : all)
        found.instances = join_by_name(found.instances, p.state->instances());
      found.instances = to_dims(found.instances, dims);
      for (const Value& v : found.values)
        found.instances = dims_to_params(std::move(found.instances), {v.name});
      out = std::move(found);
    } catch (const IslQuota&) { throw; } catch (const Error&) {  // numbers too large
    } catch (const IslError&) {}
  });
  return out;
}

/// Puts one more value in the place of the iname within a piece, in `exprs` and wherever a domain
/// contains the number of the piece; nothing where there is none. With all iterations of the
/// pieces.
std::optional<std::pair<LoopJoiner::Value, Set>> LoopJoiner::name_value(
    std::vector<Part>& all, Exprs& exprs, const std::vector<std::string>& known) {
  const auto is_known = [&](const std::string& n) {
    return !k_.has_iname(n) || std::find(known.begin(), known.end(), n) != known.end();
  };
  for (const Part& home : all) {
    for (const Cut& cut : cuts_in(exprs, home.state->inames)) {
      if (std::find(home.own.begin(), home.own.end(), cut.inner) == home.own.end()) continue;
      const std::set<std::string> by = vars_of(cut.choice);
      if (!is_known(cut.inner) || !std::all_of(by.begin(), by.end(), is_known)) continue;
      const Expr number = home.state->number_from_zero(cut.choice);
      if (!number) continue;
      const std::string name = cut.inner + "'";
      const std::optional<Pieces> pieces = pieces_of(k_, cut, number, name);
      if (!pieces || !home.state->is_within(pieces->iterations)) continue;
      const auto [at_home, fresh] = without_.try_emplace({home.state, cut.key()});
      if (fresh) at_home->second = home.state->without(cut, name, false);
      const StatePtr joined = at_home->second;
      if (!joined) continue;
      for (Part& p : all) {
        if (&p == &home || !p.state->has(cut.inner) || !p.state->has_all(vars_of(number))) continue;
        const auto [there, unknown] =
            without_.try_emplace({p.state, cut.key() + " by " + to_string(number)});
        if (unknown)
          others_.ask([&, &other = there->second] {
            other = p.state->within(pieces->iterations).without(cut, name, false);
          });
        if (there->second) p.state = there->second;
      }
      Part& own = all[static_cast<std::size_t>(&home - all.data())];
      std::replace(own.own.begin(), own.own.end(), cut.inner, name);
      own.state = joined;
      for (Expr& e : exprs) e = replaced(e, cut, name);
      return std::pair(Value{name, cut.choice, cut.inner, pieces->range,
                             all_to_params(pieces->iterations), pieces->number},
                       pieces->iterations);
    }
  }
  return std::nullopt;
}

/// All values of loops, outermost last, and the instances in terms of them.
struct LoopJoiner::Named {
  std::vector<std::pair<Cut, std::string>> values;
  std::vector<std::string> inames;  // without those of pieces
  Set instances;
};

/// As join(), of pieces of even length that no expression names in any other way. In one part
/// wherever the loop that was cut is; each domain by itself, so that pieces of pieces cost their
/// sum.
std::optional<Joined> LoopJoiner::join_named(const std::vector<std::string>& inames, Exprs exprs) {
  for (Expr& e : exprs) e = normal_sums(e);
  std::string key = fmt::format("{}", fmt::join(inames, ","));
  for (const Cut& cut : cuts_in(exprs, inames)) key += "|" + cut.key();
  const auto [it, fresh] = named_.try_emplace(std::move(key));
  if (fresh) {
    try {
      const IslBudget budget(kJoinOperations);
      Exprs now = exprs;
      std::vector<Part> all = parts(inames, now);
      Named out{{}, inames, {}};
      std::vector<std::string> known = inames;
      while (const auto next = name_value(all, now, known)) {
        const Value& value = next->first;
        known.push_back(value.name);
        std::replace(out.inames.begin(), out.inames.end(), value.inner, value.name);
        const std::set<std::string> by = Choice::of(value.start).chosen_by();
        std::erase_if(out.inames, [&](const std::string& i) { return by.contains(i); });
        out.values.emplace_back(Cut{value.start, value.inner}, value.name);
      }
      // A domain in terms of pieces only gives no information on the values.
      const auto is_joined = [&](const Part& p) {
        return std::all_of(p.state->inames.begin(), p.state->inames.end(), [&](const auto& i) {
          return std::find(known.begin(), known.end(), i) == known.end() ||
                 std::find(out.inames.begin(), out.inames.end(), i) != out.inames.end();
        });
      };
      if (!out.values.empty() && std::all_of(all.begin(), all.end(), is_joined)) {
        for (const Part& p : all) {
          const Set here = p.state->instances();
          out.instances = out.instances ? join_by_name(out.instances, here) : here;
        }
        out.instances = to_dims(out.instances, out.inames);
        it->second = std::make_shared<const Named>(std::move(out));
      }
    } catch (const Error&) {  // numbers too large, or too many operations
    } catch (const IslError&) {}
  }
  if (!it->second) return std::nullopt;
  const Named& found = *it->second;
  for (Expr& e : exprs)
    for (const auto& [cut, name] : found.values) e = replaced(e, cut, name);
  const auto is_lost = [&](const std::string& i) {
    return std::find(found.inames.begin(), found.inames.end(), i) == found.inames.end() &&
           names(exprs, i);
  };
  const auto is_inner = [&](const auto& v) { return is_lost(v.second); };
  if (std::any_of(inames.begin(), inames.end(), is_lost) ||
      std::any_of(found.values.begin(), found.values.end(), is_inner))
    return std::nullopt;
  return Joined{found.inames, found.instances, std::move(exprs)};
}

/// The instances before anything is joined, and `exprs` as sums and choices are compared; null
/// where they have no choices among the loops, or too many. `key`: of the state in `known_`.
std::shared_ptr<const LoopJoiner::State> LoopJoiner::first_state(
    const std::vector<std::string>& inames, Exprs& exprs, std::string& key) {
  for (Expr& e : exprs) e = normal_sums(e);
  key = fmt::format("{}", fmt::join(inames, ","));
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
  auto known = known_.find(key);
  if (known == known_.end())
    known =
        known_
            .emplace(key, std::make_shared<const State>(k_, domain_of(k_, inames), inames, choices))
            .first;
  return known->second;
}

/// The last state, with `exprs` in its inames; null if nothing was joined. `start` is the key of
/// the first one. `in_order`: only joins that numbers() wants.
std::shared_ptr<const LoopJoiner::State> LoopJoiner::join_all(
    const std::vector<std::string>& inames, Exprs& exprs, bool in_order, std::string& start) {
  std::shared_ptr<const State> state = first_state(inames, exprs, start);
  if (!state) return nullptr;
  std::string key = start;

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
