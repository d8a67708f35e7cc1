#include "runtime/points.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

struct TooMuch {};

__extension__ typedef __int128 Wide;

/// sum coefficient[v] * x[v] + constant >= 0 (or == 0).
struct Row {
  std::vector<std::int64_t> coefficient;
  std::int64_t constant = 0;
  bool equality = false;
};

/// Counts the points of one system, by enumeration from outside inwards.
class Enumerator {
 public:
  Enumerator(std::vector<Row> rows, std::size_t variables, std::int64_t& left)
      : rows_(std::move(rows)), n_(variables), left_(left), x_(variables, 0) {
    project();
  }

  std::int64_t count() { return infeasible_ ? 0 : inside(0); }

 private:
  /// by_level_[v]: the rows in which v is the last variable; bounds of v given the earlier ones.
  /// Fourier and Motzkin's elimination gives outer variables their (rational) bounds: they only
  /// shorten the enumeration, the original rows decide at the end.
  void project() {
    by_level_.resize(n_);
    std::vector<Row> now = rows_;
    for (std::size_t v = n_; v-- > 0;) {
      std::vector<Row> lower, upper, next;
      for (Row& r : now) {
        const std::int64_t c = r.coefficient[v];
        if (c == 0) {
          next.push_back(std::move(r));
          continue;
        }
        by_level_[v].push_back(r);
        if (r.equality) {
          Row reversed = r;
          for (std::int64_t& a : reversed.coefficient) a = -a;
          reversed.constant = -reversed.constant;
          (c > 0 ? lower : upper).push_back(std::move(r));
          (c > 0 ? upper : lower).push_back(std::move(reversed));
        } else {
          (c > 0 ? lower : upper).push_back(std::move(r));
        }
      }
      if (lower.empty() || upper.empty()) throw TooMuch{};  // unbounded
      for (const Row& l : lower)
        for (const Row& u : upper) combine(l, u, v, next);
      prune(next);
      if (next.size() > 400) throw TooMuch{};
      now = std::move(next);
    }
    for (const Row& r : now)
      if (r.equality ? r.constant != 0 : r.constant < 0) infeasible_ = true;
  }

  void combine(const Row& l, const Row& u, std::size_t v, std::vector<Row>& out) const {
    const std::int64_t g = std::gcd(l.coefficient[v], u.coefficient[v]);
    const std::int64_t fl = -u.coefficient[v] / g, fu = l.coefficient[v] / g;
    Row r;
    r.coefficient.resize(n_);
    const auto mix = [&](std::int64_t a, std::int64_t b) {
      std::int64_t p = 0, q = 0, s = 0;
      if (__builtin_mul_overflow(a, fl, &p) || __builtin_mul_overflow(b, fu, &q) ||
          __builtin_add_overflow(p, q, &s))
        throw TooMuch{};
      return s;
    };
    std::int64_t common = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      r.coefficient[i] = mix(l.coefficient[i], u.coefficient[i]);
      common = std::gcd(common, r.coefficient[i]);
    }
    r.constant = mix(l.constant, u.constant);
    if (common > 1) {
      for (std::int64_t& c : r.coefficient) c /= common;
      r.constant = static_cast<std::int64_t>(floor_div<Wide>(r.constant, common));
    }
    if (common != 0 || r.constant < 0) out.push_back(std::move(r));
  }

  /// Keeps the tightest of rows with equal coefficients.
  static void prune(std::vector<Row>& rows) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::tie(a.coefficient, a.equality, a.constant) <
             std::tie(b.coefficient, b.equality, b.constant);
    });
    const auto same = [](const Row& a, const Row& b) {
      return !a.equality && !b.equality && a.coefficient == b.coefficient;
    };
    rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  }

  struct Range {
    std::int64_t from = 0, to = -1;
  };
  Range range(std::size_t v) const {
    Wide from = INT64_MIN, to = INT64_MAX;
    for (const Row& r : by_level_[v]) {
      Wide rest = r.constant;
      for (std::size_t i = 0; i < v; ++i) rest += static_cast<Wide>(r.coefficient[i]) * x_[i];
      const std::int64_t c = r.coefficient[v];
      if (r.equality) {  // c*x == -rest
        const Wide m = c > 0 ? -rest : rest, d = c > 0 ? c : -static_cast<Wide>(c);
        const Wide q = floor_div<Wide>(m, d);
        if (q * d != m) return {};
        from = std::max(from, q), to = std::min(to, q);
      } else if (c > 0) {
        from = std::max(from, -floor_div<Wide>(rest, c));  // ceil(-rest / c)
      } else {
        to = std::min(to, floor_div<Wide>(rest, -static_cast<Wide>(c)));
      }
    }
    if (from > to) return {};
    return {static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
  }

  std::int64_t inside(std::size_t v) {
    if (v == n_) return 1;
    const Range r = range(v);
    if (v + 1 == n_) return size(r);
    std::int64_t total = 0;
    for (std::int64_t i = r.from; i <= r.to; ++i) {
      if (--left_ < 0) throw TooMuch{};
      x_[v] = i;
      if (__builtin_add_overflow(total, inside(v + 1), &total)) throw TooMuch{};
    }
    return total;
  }
  static std::int64_t size(const Range& r) {
    if (r.from > r.to) return 0;
    std::int64_t n = 0;
    if (__builtin_sub_overflow(r.to, r.from, &n) || __builtin_add_overflow(n, 1, &n))
      throw TooMuch{};
    return n;
  }

  std::vector<Row> rows_;
  std::size_t n_;
  std::int64_t& left_;
  std::vector<std::int64_t> x_;
  std::vector<std::vector<Row>> by_level_;
  bool infeasible_ = false;
};

std::int64_t number(isl_val* taken) {
  const Val v(taken);
  if (!yes(isl_val_is_int(v.get())) || isl_val_cmp_si(v.get(), INT64_MAX / 4) > 0 ||
      isl_val_cmp_si(v.get(), INT64_MIN / 4) < 0)
    throw TooMuch{};
  return to_int(v);
}

/// A basic set without parameters as rows over its existential variables, then its dimensions: each
/// existential is the quotient of a division, so points and solutions are one to one.
struct System {
  std::vector<Row> rows;
  std::size_t variables = 0;
};

System system_of(const BasicSet& b) {
  const auto dims = static_cast<std::size_t>(isl_basic_set_dim(b.get(), isl_dim_set));
  const auto divs = static_cast<std::size_t>(isl_basic_set_dim(b.get(), isl_dim_div));
  System out;
  out.variables = dims + divs;
  struct Build {
    System& system;
    std::size_t dims, divs;
  } build{out, dims, divs};
  const auto add = [](isl_constraint* taken, void* user) -> isl_stat {
    const Constraint c(taken);
    const Build& s = *static_cast<Build*>(user);
    Row r;
    for (std::size_t i = 0; i < s.divs; ++i)
      r.coefficient.push_back(
          number(isl_constraint_get_coefficient_val(c.get(), isl_dim_div, static_cast<int>(i))));
    for (std::size_t i = 0; i < s.dims; ++i)
      r.coefficient.push_back(
          number(isl_constraint_get_coefficient_val(c.get(), isl_dim_set, static_cast<int>(i))));
    r.constant = number(isl_constraint_get_constant_val(c.get()));
    r.equality = yes(isl_constraint_is_equality(c.get()));
    s.system.rows.push_back(std::move(r));
    return isl_stat_ok;
  };
  if (isl_basic_set_foreach_constraint(b.get(), add, &build) < 0) throw_isl();

  for (std::size_t d = 0; d < divs; ++d) {  // 0 <= numerator - denominator*div < denominator
    const Aff q(isl_basic_set_get_div(b.get(), static_cast<int>(d)));
    const std::int64_t m = number(isl_aff_get_denominator_val(q.get()));
    const auto scaled = [&](isl_val* taken) {
      return number(isl_val_mul(taken, isl_val_int_from_si(isl(), m)));
    };
    Row r;
    for (std::size_t i = 0; i < divs; ++i)
      r.coefficient.push_back(
          scaled(isl_aff_get_coefficient_val(q.get(), isl_dim_div, static_cast<int>(i))));
    for (std::size_t i = 0; i < dims; ++i)
      r.coefficient.push_back(
          scaled(isl_aff_get_coefficient_val(q.get(), isl_dim_in, static_cast<int>(i))));
    r.constant = scaled(isl_aff_get_constant_val(q.get()));
    r.coefficient[d] -= m;
    out.rows.push_back(r);
    for (std::int64_t& c : r.coefficient) c = -c;
    r.constant = m - 1 - r.constant;
    out.rows.push_back(std::move(r));
  }
  return out;
}

/// The number of solutions: a product over the sets of variables that rows tie together.
std::int64_t solutions(const System& s, std::int64_t& left) {
  std::vector<std::size_t> leader(s.variables);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&](std::size_t v) {
    while (leader[v] != v) v = leader[v] = leader[leader[v]];
    return v;
  };
  for (const Row& r : s.rows) {
    std::size_t first = s.variables;
    for (std::size_t v = 0; v < s.variables; ++v) {
      if (r.coefficient[v] == 0) continue;
      if (first == s.variables) first = v;
      leader[find(v)] = find(first);
    }
    if (first == s.variables && (r.equality ? r.constant != 0 : r.constant < 0)) return 0;
  }
  std::int64_t total = 1;
  for (std::size_t v = 0; v < s.variables; ++v) {
    if (find(v) != v) continue;
    std::vector<std::size_t> members;
    for (std::size_t w = 0; w < s.variables; ++w)
      if (find(w) == v) members.push_back(w);
    std::vector<Row> rows;
    for (const Row& r : s.rows) {
      Row part{{}, r.constant, r.equality};
      for (const std::size_t w : members) part.coefficient.push_back(r.coefficient[w]);
      if (std::any_of(part.coefficient.begin(), part.coefficient.end(),
                      [](std::int64_t c) { return c != 0; }))
        rows.push_back(std::move(part));
    }
    if (__builtin_mul_overflow(total, Enumerator(std::move(rows), members.size(), left).count(),
                               &total))
      throw TooMuch{};
    if (total == 0) return 0;
  }
  return total;
}

struct Collected {
  std::int64_t total = 0, left = 0;
  bool failed = false;
};

}  // namespace

std::optional<std::int64_t> count_points(const Set& set, const Integers& values,
                                         std::int64_t limit) {
  Set s = set;
  const int params = isl_set_dim(s.get(), isl_dim_param);
  for (int p = 0; p < params; ++p) {
    const auto at = static_cast<unsigned>(p);
    const auto it = values.find(isl_set_get_dim_name(s.get(), isl_dim_param, at));
    if (it == values.end()) {
      if (yes(isl_set_involves_dims(s.get(), isl_dim_param, at, 1))) return std::nullopt;
      continue;
    }
    s = isl_set_fix_val(s.take(), isl_dim_param, at, isl_val_int_from_si(isl(), it->second));
  }
  s = isl_set_project_out(s.take(), isl_dim_param, 0, static_cast<unsigned>(params));
  s = isl_set_make_disjoint(isl_set_compute_divs(s.take()));
  s = isl_set_compute_divs(s.take());
  Collected all{0, limit, false};
  const auto add = [](isl_basic_set* taken, void* user) -> isl_stat {
    const BasicSet b(taken);
    Collected& c = *static_cast<Collected*>(user);
    try {
      if (__builtin_add_overflow(c.total, solutions(system_of(b), c.left), &c.total))
        c.failed = true;
    } catch (const TooMuch&) { c.failed = true; }
    return c.failed ? isl_stat_error : isl_stat_ok;
  };
  if (isl_set_foreach_basic_set(s.get(), add, &all) < 0 && !all.failed) throw_isl();
  if (all.failed) return std::nullopt;
  return all.total;
}

}  // namespace moonloop
