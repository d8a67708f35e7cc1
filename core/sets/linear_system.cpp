#include "core/sets/linear_system.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

std::int64_t number(isl_val* taken) {
  const Val v(taken);
  constexpr std::int64_t kLarge = INT64_MAX / 4;
  if (!yes(isl_val_is_int(v.get())) || isl_val_cmp_si(v.get(), kLarge) > 0 ||
      isl_val_cmp_si(v.get(), -kLarge) < 0)
    throw TooHard{};
  return to_int(v);
}

/// Reads a basic set's constraints and divisions into columns.
class Reader {
 public:
  explicit Reader(const BasicSet& b) : b_(b) {
    dims_ = static_cast<std::size_t>(count(isl_basic_set_dim(b.get(), isl_dim_set)));
    params_ = static_cast<std::size_t>(count(isl_basic_set_dim(b.get(), isl_dim_param)));
    divs_ = static_cast<std::size_t>(count(isl_basic_set_dim(b.get(), isl_dim_div)));
  }

  LinearSystem read() {
    place_divs();
    Space space = isl_space_params(isl_basic_set_get_space(b_.get()));
    out_.context = isl_set_universe(space.copy());
    const LocalSpace local = isl_local_space_from_space(space.take());
    for (std::size_t p = 0; p < params_; ++p)
      out_.fixed.emplace_back(
          isl_aff_var_on_domain(local.copy(), isl_dim_param, static_cast<unsigned>(p)));
    for (std::size_t d = 0; d < divs_; ++d) {
      if (!fixed_div_[d]) continue;
      Row row = dividend_[d];
      row.resize(out_.variables + out_.fixed.size() + 1);  // later columns are not in it
      row.back() = dividend_[d].back();
      Aff a = on_parameters(out_, row);
      a = isl_aff_scale_down_val(a.take(), isl_val_int_from_si(isl(), divisor_[d]));
      out_.fixed.emplace_back(isl_aff_floor(a.take()));
    }
    for (const Constraint& c : constraints_of(b_)) {
      Row r = row_of([&](isl_dim_type type, std::size_t i) {
        return number(isl_constraint_get_coefficient_val(c.get(), type, static_cast<int>(i)));
      });
      r.back() = number(isl_constraint_get_constant_val(c.get()));
      (yes(isl_constraint_is_equality(c.get())) ? out_.zero : out_.not_negative)
          .push_back(std::move(r));
    }
    for (std::size_t d = 0; d < divs_; ++d) {  // 0 <= dividend - divisor*div < divisor
      Row r = dividend_[d];
      r[div_column_[d]] -= divisor_[d];
      out_.not_negative.push_back(r);
      for (std::int64_t& c : r) c = -c;
      r.back() += divisor_[d] - 1;
      out_.not_negative.push_back(std::move(r));
    }
    return std::move(out_);
  }

 private:
  /// Which divisions depend on dimensions, and the columns of all.
  void place_divs() {
    const Dividends raw = dividends();
    fixed_div_.assign(divs_, true);
    for (std::size_t d = 0; d < divs_; ++d) {
      for (std::size_t i = 0; i < dims_; ++i)
        if (raw[d].dims[i] != 0) fixed_div_[d] = false;
      for (std::size_t i = 0; i < d; ++i)
        if (raw[d].divs[i] != 0 && !fixed_div_[i]) fixed_div_[d] = false;
    }
    const auto variable_divs =
        static_cast<std::size_t>(std::count(fixed_div_.begin(), fixed_div_.end(), false));
    out_.variables = dims_ + variable_divs;
    out_.open.resize(out_.variables);
    std::iota(out_.open.begin(), out_.open.end(), std::size_t{0});
    std::size_t variable = dims_, fixed = out_.variables + params_;
    for (std::size_t d = 0; d < divs_; ++d)
      div_column_.push_back(fixed_div_[d] ? fixed++ : variable++);
    columns_ = fixed;
    for (std::size_t d = 0; d < divs_; ++d) {
      dividend_.push_back(row_of([&](isl_dim_type type, std::size_t i) {
        return type == isl_dim_set     ? raw[d].dims[i]
               : type == isl_dim_param ? raw[d].params[i]
                                       : raw[d].divs[i];
      }));
      dividend_.back().back() = raw[d].constant;
    }
  }

  struct Dividend {
    std::vector<std::int64_t> dims, params, divs;
    std::int64_t constant = 0;
  };
  using Dividends = std::vector<Dividend>;
  Dividends dividends() {
    Dividends out(divs_);
    for (std::size_t d = 0; d < divs_; ++d) {
      const Aff q(isl_basic_set_get_div(b_.get(), static_cast<int>(d)));
      divisor_.push_back(number(isl_aff_get_denominator_val(q.get())));
      const auto scaled = [&](isl_val* taken) {
        return number(isl_val_mul(taken, isl_val_int_from_si(isl(), divisor_.back())));
      };
      const auto all = [&](isl_dim_type type, std::size_t n, std::vector<std::int64_t>& to) {
        for (std::size_t i = 0; i < n; ++i)
          to.push_back(scaled(isl_aff_get_coefficient_val(q.get(), type, static_cast<int>(i))));
      };
      all(isl_dim_in, dims_, out[d].dims);
      all(isl_dim_param, params_, out[d].params);
      all(isl_dim_div, divs_, out[d].divs);
      out[d].constant = scaled(isl_aff_get_constant_val(q.get()));
    }
    return out;
  }

  template <class F>
  Row row_of(F coefficient) const {
    Row r(columns_ + 1, 0);
    for (std::size_t i = 0; i < dims_; ++i) r[i] = coefficient(isl_dim_set, i);
    for (std::size_t i = 0; i < params_; ++i) r[out_.variables + i] = coefficient(isl_dim_param, i);
    for (std::size_t i = 0; i < divs_; ++i) r[div_column_[i]] = coefficient(isl_dim_div, i);
    return r;
  }

  const BasicSet& b_;
  std::size_t dims_ = 0, params_ = 0, divs_ = 0, columns_ = 0;
  std::vector<bool> fixed_div_;
  std::vector<std::size_t> div_column_;
  std::vector<Row> dividend_;
  std::vector<std::int64_t> divisor_;
  LinearSystem out_;
};

/// Divides by the common divisor of the coefficients; the constant rounds down, which loses no
/// integer point. False when the row never holds.
bool tighten(Row& r) {
  std::int64_t common = 0;
  for (std::size_t i = 0; i + 1 < r.size(); ++i) common = std::gcd(common, r[i]);
  if (common == 0) return r.back() >= 0;
  if (common == 1) return true;
  for (std::size_t i = 0; i + 1 < r.size(); ++i) r[i] /= common;
  r.back() = floor_div(r.back(), common);
  return true;
}

/// The steps of `reduced`.
class Reducer {
 public:
  explicit Reducer(LinearSystem s) : s_(std::move(s)) {}

  std::optional<LinearSystem> run() {
    if (!simplify()) return {};
    while (solve_equalities() || join_tiles() || drop_quotient())
      if (!simplify()) return {};
    return std::move(s_);
  }

 private:
  bool simplify() {
    for (Row& r : s_.not_negative)
      if (!tighten(r)) return false;
    auto rows = without_redundant({std::move(s_.zero), std::move(s_.not_negative)}, s_.constant());
    if (!rows || yes(isl_set_is_empty(s_.context.get()))) return false;
    s_.zero = std::move(rows->zero);
    s_.not_negative = std::move(rows->not_negative);
    return true;
  }

  /// `row`, which may have the column itself, in place of column `v`, in each row.
  void substitute(std::size_t v, const Row& row) {
    for (std::vector<Row>* rows : {&s_.zero, &s_.not_negative})
      for (Row& r : *rows) {
        const std::int64_t factor = std::exchange(r[v], 0);
        if (factor != 0) r = combine(1, r, factor, row);
      }
  }
  /// The same for `row`/`divisor`.
  void substitute(std::size_t v, const Row& row, std::int64_t divisor) {
    for (std::vector<Row>* rows : {&s_.zero, &s_.not_negative})
      for (Row& r : *rows) {
        const std::int64_t factor = std::exchange(r[v], 0);
        if (factor != 0) r = combine(divisor, r, factor, row);
      }
  }

  bool solve_equalities() {
    std::vector<Row> open = std::exchange(s_.zero, {});
    if (open.empty()) return false;
    bool changed = false;
    std::vector<Row> fixed;
    while (!open.empty()) {
      std::swap(s_.zero, open);  // so that substitutions reach all
      const Row r = s_.zero.back();
      const auto v = least(r);
      if (!v) {
        fixed.push_back(r);
        s_.zero.pop_back();
      } else {
        changed = true;
        eliminate(*v);
      }
      std::swap(s_.zero, open);
    }
    if (!fixed.empty()) {
      const Set where = parameters_where(s_, {fixed, {}});
      s_.context = isl_set_intersect(s_.context.take(), where.copy());
    }
    s_.zero.clear();
    return changed;
  }
  /// The variable with the least coefficient other than 0.
  std::optional<std::size_t> least(const Row& r) const {
    std::optional<std::size_t> best;
    for (const std::size_t v : s_.open)
      if (r[v] != 0 && (!best || std::abs(r[v]) < std::abs(r[*best]))) best = v;
    return best;
  }
  /// One step with the last equality, in which `v` has the least coefficient.
  void eliminate(std::size_t v) {
    Row r = s_.zero.back();
    if (r[v] > 0)
      for (std::int64_t& c : r) c = -c;
    const std::int64_t divisor = -std::exchange(r[v], 0);  // divisor*v == r
    const bool alone = !least(r);
    if (divisor == 1 || alone) {
      s_.zero.pop_back();
      if (divisor > 1) {
        const Val d = isl_val_int_from_si(isl(), divisor);
        const Aff a = isl_aff_mod_val(on_parameters(s_, r).take(), d.copy());
        const Set divides = isl_set_from_basic_set(isl_aff_zero_basic_set(a.copy()));
        s_.context = isl_set_intersect(s_.context.take(), divides.copy());
      }
      substitute(v, r, divisor);
      std::erase(s_.open, v);
      return;
    }
    Row shifted(r.size(), 0);  // v + sum of quotient*w in place of v
    shifted[v] = 1;
    for (const std::size_t w : s_.open)
      if (r[w] != 0) shifted[w] = floor_div(r[w], divisor);
    substitute(v, shifted);
  }
  /// Whether `r` is a bound of only `v`, by a constant.
  bool bounds_alone(const Row& r, std::size_t v) const {
    for (std::size_t i = 0; i < s_.constant(); ++i)
      if (i != v && r[i] != 0) return false;
    return true;
  }

  /// Looks for `v` with values 0 … m-1 after a shift, and `u` that occurs with it as m*u + v.
  bool join_tiles() {
    for (const std::size_t v : s_.open) {
      std::optional<std::int64_t> low, high;
      for (const Row& r : s_.not_negative) {
        if (r[v] == 1 && bounds_alone(r, v)) low = -r.back();
        if (r[v] == -1 && bounds_alone(r, v)) high = r.back();
      }
      if (!low || !high || *low >= *high) continue;
      const std::int64_t m = *high - *low + 1;
      for (const std::size_t u : s_.open)
        if (u != v && stand_together(u, v, m)) {
          Row sum(s_.constant() + 1, 0);  // v becomes v - m*u
          sum[v] = 1;
          sum[u] = -m;
          substitute(v, sum);
          if (quotient(u)) return true;
          sum[u] = m;
          substitute(v, sum);
        }
    }
    return false;
  }
  bool stand_together(std::size_t u, std::size_t v, std::int64_t m) const {
    bool together = false;
    for (const Row& r : s_.not_negative) {
      if (r[v] == 0 || bounds_alone(r, v)) continue;
      if (r[u] % m != 0 || r[u] / m != r[v]) return false;
      together = true;
    }
    return together;
  }

  /// Rows that say that `u` is a quotient: 0 <= dividend - m*u < m.
  struct Quotient {
    std::size_t low, high;  // rows
    Row dividend;
    std::int64_t m;
  };
  std::optional<Quotient> quotient(std::size_t u) const {
    for (std::size_t i = 0; i < s_.not_negative.size(); ++i) {
      const Row& low = s_.not_negative[i];
      const std::int64_t m = -low[u];
      if (m < 2) continue;
      for (std::size_t j = 0; j < s_.not_negative.size(); ++j) {
        const Row& high = s_.not_negative[j];
        if (high[u] != m) continue;
        Row sum = combine(1, low, 1, high);
        if (sum.back() != m - 1) continue;
        sum.back() = 0;
        if (std::any_of(sum.begin(), sum.end(), [](std::int64_t c) { return c != 0; })) continue;
        Quotient q{i, j, low, m};
        q.dividend[u] = 0;
        if (others_are_plain(u, q)) return q;
      }
    }
    return {};
  }
  bool others_are_plain(std::size_t u, const Quotient& q) const {
    for (std::size_t i = 0; i < s_.not_negative.size(); ++i)
      if (i != q.low && i != q.high && std::abs(s_.not_negative[i][u]) > 1) return false;
    return true;
  }

  bool drop_quotient() {
    for (const std::size_t u : s_.open) {
      const auto q = quotient(u);
      if (!q) continue;
      std::vector<Row> rows;
      for (std::size_t i = 0; i < s_.not_negative.size(); ++i) {
        if (i == q->low || i == q->high) continue;
        Row r = s_.not_negative[i];
        const std::int64_t sign = std::exchange(r[u], 0);
        if (sign != 0) {  // floor(e/m) >= b: e >= m*b; floor(e/m) <= b: e <= m*b + m - 1
          r = combine(q->m, r, sign, q->dividend);
          if (sign < 0) r.back() += q->m - 1;
        }
        rows.push_back(std::move(r));
      }
      s_.not_negative = std::move(rows);
      std::erase(s_.open, u);
      return true;
    }
    return false;
  }

  LinearSystem s_;
};

}  // namespace

LinearSystem system_of(const BasicSet& b) { return Reader(b).read(); }

std::optional<LinearSystem> reduced(LinearSystem s) { return Reducer(std::move(s)).run(); }

std::optional<RowSystem> without_redundant(const RowSystem& rows, std::size_t columns) {
  const LocalSpace local =
      isl_local_space_from_space(isl_space_set_alloc(isl(), 0, static_cast<unsigned>(columns)));
  BasicSet b = isl_basic_set_universe(isl_local_space_get_space(local.get()));
  std::set<Row> seen;
  const auto add = [&](const Row& r, bool equality) {
    if (!equality && !seen.insert(r).second) return;
    Constraint c = equality ? isl_constraint_alloc_equality(local.copy())
                            : isl_constraint_alloc_inequality(local.copy());
    for (std::size_t i = 0; i < columns; ++i)
      if (r[i] != 0)
        c = isl_constraint_set_coefficient_val(c.take(), isl_dim_set, static_cast<int>(i),
                                               isl_val_int_from_si(isl(), r[i]));
    c = isl_constraint_set_constant_val(c.take(), isl_val_int_from_si(isl(), r.back()));
    b = isl_basic_set_add_constraint(b.take(), c.take());
  };
  for (const Row& r : rows.zero) add(r, true);
  for (const Row& r : rows.not_negative) add(r, false);
  b = isl_basic_set_remove_redundancies(b.take());
  if (yes(isl_basic_set_plain_is_empty(b.get()))) return {};
  RowSystem out;
  for (const Constraint& c : constraints_of(b)) {
    Row r(columns + 1, 0);
    for (std::size_t i = 0; i < columns; ++i)
      r[i] = number(isl_constraint_get_coefficient_val(c.get(), isl_dim_set, static_cast<int>(i)));
    r.back() = number(isl_constraint_get_constant_val(c.get()));
    (yes(isl_constraint_is_equality(c.get())) ? out.zero : out.not_negative)
        .push_back(std::move(r));
  }
  std::sort(out.zero.begin(), out.zero.end());
  std::sort(out.not_negative.begin(), out.not_negative.end());
  return out;
}

Aff on_parameters(const LinearSystem& s, const Row& row) {
  const Space space = isl_space_params(isl_set_get_space(s.context.get()));
  const LocalSpace local = isl_local_space_from_space(space.copy());
  Aff sum = isl_aff_zero_on_domain(local.copy());
  for (std::size_t i = 0; i < s.fixed.size(); ++i) {
    const std::int64_t c = row[s.variables + i];
    if (c == 0) continue;
    Aff part = isl_aff_scale_val(s.fixed[i].copy(), isl_val_int_from_si(isl(), c));
    sum = isl_aff_add(sum.take(), part.take());
  }
  return isl_aff_add_constant_val(sum.take(), isl_val_int_from_si(isl(), row.back()));
}

Set parameters_where(const LinearSystem& s, const RowSystem& rows) {
  Set out = isl_set_universe(isl_set_get_space(s.context.get()));
  const auto add = [&](isl_set* condition) { out = isl_set_intersect(out.take(), condition); };
  for (const Row& r : rows.zero)
    add(isl_pw_aff_zero_set(isl_pw_aff_from_aff(on_parameters(s, r).take())));
  for (const Row& r : rows.not_negative)
    add(isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(on_parameters(s, r).take())));
  return out;
}

}  // namespace moonloop
