#include "core/model/mixed_radix.h"

#include <algorithm>

#include "core/expr/integers.h"
#include "core/expr/piece_starts.h"
#include "core/model/domain.h"
#include "core/model/joined_loops.h"
#include "core/model/memo.h"
#include "core/sets/isl.h"

namespace moonloop {

std::optional<std::vector<std::string>> digits(const Expr& value, const RangeOf& range) {
  if (const Var* v = value.as<Var>()) return std::vector<std::string>{v->name};
  const Nary* sum = value.as<Nary>();
  if (!sum || sum->op != NaryOp::Add) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::string>> terms;
  for (const Expr& t : sum->terms) {
    if (as_int(t)) continue;
    const Nary* product = t.as<Nary>();
    const Var* v = t.as<Var>();
    std::optional<std::int64_t> factor = 1;
    if (product && product->op == NaryOp::Mul && product->terms.size() == 2) {
      const bool swapped = product->terms[0].as<Var>() != nullptr;
      v = product->terms[swapped ? 0 : 1].as<Var>();
      factor = as_int(product->terms[swapped ? 1 : 0]);
    }
    if (!v || !factor || *factor <= 0) return std::nullopt;
    terms.emplace_back(*factor, v->name);
  }
  std::sort(terms.rbegin(), terms.rend());
  std::vector<std::string> out;
  std::int64_t below = 0;  // how much the inner inames can change the value
  for (std::size_t i = terms.size(); i-- > 0;) {
    if (i + 1 < terms.size() && below >= terms[i].first) return std::nullopt;
    if (i > 0) {
      const std::optional<std::int64_t> wide = range(terms[i].second);
      std::int64_t part = 0;
      if (!wide || __builtin_mul_overflow(terms[i].first, *wide, &part) ||
          __builtin_add_overflow(below, part, &below))
        return std::nullopt;
    }
    out.insert(out.begin(), terms[i].second);
  }
  return out;
}

namespace {

/// Where the pieces begin that an iname numbers from `least` on, all in terms of parameters.
struct PieceStarts {
  std::string outer;
  std::int64_t least = 0;
  Exprs starts;
};

/// `s0 if outer == 0 else s1 if outer == 1 else ... sN`: the numbers are consecutive.
std::optional<PieceStarts> piece_starts(const Kernel& k, const Expr& choice) {
  PieceStarts out;
  Choice all = Choice::of(choice);
  const auto numbers = numbers_of(all);
  const Var* v = numbers ? numbers->number.as<Var>() : nullptr;
  if (!v) return std::nullopt;
  out.outer = v->name;
  out.least = numbers->values[0];
  for (std::size_t c = 0; c < numbers->values.size(); ++c)
    if (numbers->values[c] != out.least + std::int64_t(c)) return std::nullopt;
  out.starts = std::move(all.values);
  for (const Expr& e : out.starts) {
    std::set<std::string> used;
    collect_vars(e, used);
    for (const std::string& n : used)
      if (k.has_iname(n) || k.find_temporary(n)) return std::nullopt;
  }
  return out;
}

/// Of pieces of pieces.
std::optional<std::vector<std::string>> digits_of_pieces(const Kernel& k, const Expr& value,
                                                         const RangeOf& range) {
  const auto joined = LoopJoiner(k).numbers(value);
  if (!joined) return std::nullopt;
  const auto found = digits(joined->value, [&](const std::string& i) {
    return joined->inames.count(i) ? std::nullopt : range(i);
  });
  if (!found) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string& i : *found)
    if (const auto it = joined->inames.find(i); it != joined->inames.end())
      out.insert(out.end(), it->second.begin(), it->second.end());
    else
      out.push_back(i);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> piece_digits(const Kernel& k, const Expr& value,
                                                     const Set& domain, const RangeOf& range) {
  const Nary* sum = value.as<Nary>();
  if (!sum || sum->op != NaryOp::Add) return std::nullopt;
  Exprs terms = sum->terms;
  const auto choice = std::find_if(terms.begin(), terms.end(),
                                   [](const Expr& t) { return t.as<Select>() != nullptr; });
  if (choice == terms.end()) return digits_of_pieces(k, value, range);
  const std::optional<PieceStarts> pieces = piece_starts(k, *choice);
  if (!pieces) return digits_of_pieces(k, value, range);
  terms.erase(choice);
  const Expr within = index_add(terms);
  if (within.holds<Select>()) return digits_of_pieces(k, value, range);
  std::optional<std::vector<std::string>> out = digits(within, range);
  if (!out) return std::nullopt;

  const std::vector<std::string> dims = dim_names(domain);
  const auto all_are = [&](const Set& points, CompareOp op, const Expr& a, const Expr& b) {
    const std::optional<Set> good = to_condition(Expr(Compare{op, a, b}), dims);
    return good && yes(isl_set_is_subset(points.get(), good->get()));
  };
  const Expr number = var(pieces->outer);
  const std::int64_t last = pieces->least + std::int64_t(pieces->starts.size()) - 1;
  if (!all_are(domain, CompareOp::Ge, within, lit(0)) ||
      !all_are(domain, CompareOp::Ge, number, lit(pieces->least)) ||
      !all_are(domain, CompareOp::Le, number, lit(last)))
    return std::nullopt;
  if (const auto even = even_pieces(pieces->starts); even && pieces->least == 0) {
    const Expr place =
        index_add({index_mul(lit(last + 1), within), index_mul(lit(even->stride), number)});
    if (all_are(domain, CompareOp::Lt, place, index_mul(lit(even->stride), even->iterations))) {
      out->insert(out->begin(), pieces->outer);
      return out;
    }
  }
  // Each piece ends before the next begins, and an empty one between them changes nothing.
  const int at = isl_set_find_dim_by_name(domain.get(), isl_dim_set, pieces->outer.c_str());
  if (at < 0) return std::nullopt;
  for (std::size_t i = 0; i + 1 < pieces->starts.size(); ++i) {
    const Expr &here = pieces->starts[i], &next = pieces->starts[i + 1];
    const Val c = isl_val_int_from_si(isl(), pieces->least + std::int64_t(i));
    const Set piece = isl_set_intersect(
        domain.copy(),
        isl_set_upper_bound_val(
            isl_set_lower_bound_val(isl_set_universe(isl_set_get_space(domain.get())), isl_dim_set,
                                    unsigned(at), c.copy()),
            isl_dim_set, unsigned(at), c.copy()));
    if (!all_are(domain, CompareOp::Le, here, next) ||
        !all_are(piece, CompareOp::Lt, index_add({here, within}), next))
      return std::nullopt;
  }
  out->insert(out->begin(), pieces->outer);
  return out;
}

namespace {

struct Interval {
  std::optional<std::int64_t> low, high;

  bool raise(std::int64_t to) {
    if (low && *low >= to) return false;
    low = to;
    return true;
  }
  bool lower(std::int64_t to) {
    if (high && *high <= to) return false;
    high = to;
    return true;
  }
};

/// `constant` and the terms add up to 0 at least.
struct BoundRow {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // dimension, factor
};

/// Of a number that is far from overflow.
std::optional<std::int64_t> small(const Val& v) {
  constexpr long kMost = 1L << 60;
  if (!yes(isl_val_is_int(v.get())) || isl_val_cmp_si(v.get(), kMost) > 0 ||
      isl_val_cmp_si(v.get(), -kMost) < 0)
    return std::nullopt;
  return isl_val_get_num_si(v.get());
}

/// The constraints of a part that name dimensions and numbers only.
std::vector<BoundRow> rows_of(const BasicSet& part) {
  std::vector<BoundRow> out;
  for (const Constraint& c : constraints_of(part)) {
    bool plain = true;
    for (const isl_dim_type type : {isl_dim_param, isl_dim_div})
      if (const int n = count(isl_constraint_dim(c.get(), type)); n > 0)
        plain = plain && !yes(isl_constraint_involves_dims(c.get(), type, 0, unsigned(n)));
    if (!plain) continue;
    BoundRow row;
    const auto constant = small(isl_constraint_get_constant_val(c.get()));
    if (!constant) continue;
    row.constant = *constant;
    for (int i = 0; plain && i < count(isl_constraint_dim(c.get(), isl_dim_set)); ++i) {
      const auto factor = small(isl_constraint_get_coefficient_val(c.get(), isl_dim_set, i));
      plain = factor.has_value();
      if (plain && *factor != 0) row.terms.emplace_back(std::size_t(i), *factor);
    }
    if (!plain) continue;
    if (yes(isl_constraint_is_equality(c.get()))) {
      BoundRow other{-row.constant, row.terms};
      for (auto& t : other.terms) t.second = -t.second;
      out.push_back(std::move(other));
    }
    out.push_back(std::move(row));
  }
  return out;
}

/// Narrows the intervals by a row: with the others at their ends, each term has a bound. Whether
/// some interval changed.
bool narrow(const BoundRow& row, std::vector<Interval>& all) {
  // The most that the constant and all terms add up to, but for one of no known end, if any.
  std::int64_t most = row.constant;
  std::optional<std::size_t> open;
  for (std::size_t t = 0; t < row.terms.size(); ++t) {
    const auto& [d, factor] = row.terms[t];
    const auto& end = factor > 0 ? all[d].high : all[d].low;
    std::int64_t part = 0;
    if (!end) {
      if (open) return false;
      open = t;
    } else if (__builtin_mul_overflow(factor, *end, &part) ||
               __builtin_add_overflow(most, part, &most)) {
      return false;
    }
  }
  bool changed = false;
  for (std::size_t t = open.value_or(0); t < (open ? *open + 1 : row.terms.size()); ++t) {
    const auto& [d, factor] = row.terms[t];
    std::int64_t others = most;
    if (!open &&
        __builtin_sub_overflow(most, factor * *(factor > 0 ? all[d].high : all[d].low), &others))
      continue;
    if (others == INT64_MIN) continue;
    // factor*d >= -others
    changed |= factor > 0 ? all[d].raise(-floor_div(others, factor))
                          : all[d].lower(factor == -1 ? others : floor_div(others, -factor));
  }
  return changed;
}

/// Bounds of the dimensions of a part that follow from constraints without parameters, one by one:
/// `0 <= r < 16 and 0 <= r + 16*w < 64` leaves 0 to 3 for `w`.
std::vector<Interval> intervals_of(const BasicSet& part) {
  const std::vector<BoundRow> rows = rows_of(part);
  std::vector<Interval> out(std::size_t(count(isl_basic_set_dim(part.get(), isl_dim_set))));
  bool changed = true;
  // Each pass passes bounds on by one dimension at least; more would only creep.
  for (std::size_t pass = 0; changed && pass <= out.size(); ++pass) {
    changed = false;
    for (const BoundRow& r : rows) changed |= narrow(r, out);
  }
  return out;
}

/// plain_range() of a dimension of the set that introduces it.
std::optional<std::int64_t> range_in(const Set& home, const std::string& iname) {
  const int at = isl_set_find_dim_by_name(home.get(), isl_dim_set, iname.c_str());
  std::optional<Interval> whole;
  for (const BasicSet& part : parts_of(home)) {
    const Interval own = intervals_of(part)[std::size_t(at)];
    if (!own.low || !own.high) return std::nullopt;
    if (!whole) whole = own;
    whole->low = std::min(*whole->low, *own.low);
    whole->high = std::max(*whole->high, *own.high);
  }
  std::int64_t out = 0;
  if (!whole || __builtin_sub_overflow(*whole->high, *whole->low, &out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::int64_t> plain_range(const Kernel& k, const std::string& iname) {
  const Domain* home = k.home_of(iname);
  if (!home) return std::nullopt;
  std::string key = memo().name(home->set) + iname;
  const auto known = memo().ranges.find(key);
  if (known != memo().ranges.end()) return known->second;
  const std::optional<std::int64_t> range = range_in(home->set, iname);
  memo().ranges.emplace(std::move(key), range);
  return range;
}

std::optional<std::vector<std::string>> plain_digits(const Kernel& k, const Expr& value) {
  return digits(value, [&](const std::string& iname) { return plain_range(k, iname); });
}

}  // namespace moonloop
