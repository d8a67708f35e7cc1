#include "core/sets/affine_constraints.h"

#include <algorithm>
#include <cstdlib>

namespace moonloop {

namespace {

/// Adds the nonzero coefficients of `x`, given isl's functions for its type.
template <class T, class Dim, class Involves, class Name, class Value>
void collect(AffineConstraint& out, const T& x, isl_dim_type type, Dim dim, Involves involves,
             Name name_of, Value value) {
  for (int i = 0; i < count(dim(x.get(), type)); ++i) {
    const auto at = static_cast<unsigned>(i);
    if (!yes(involves(x.get(), type, at, 1))) continue;
    const char* name = name_of(x.get(), type, at);
    out.coefficients[name ? name : "[" + std::to_string(i) + "]"] = to_int(value(x.get(), type, i));
  }
}

}  // namespace

AffineConstraint constraint_of(const Constraint& c) {
  AffineConstraint out;
  out.constant = to_int(isl_constraint_get_constant_val(c.get()));
  out.equality = yes(isl_constraint_is_equality(c.get()));
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
    collect(out, c, type, isl_constraint_dim, isl_constraint_involves_dims,
            isl_constraint_get_dim_name, isl_constraint_get_coefficient_val);
  return out;
}

std::optional<AffineConstraint> constraint_of(const Aff& a) {
  const auto divs = static_cast<unsigned>(count(isl_aff_dim(a.get(), isl_dim_div)));
  if ((divs > 0 && yes(isl_aff_involves_dims(a.get(), isl_dim_div, 0, divs))) ||
      !yes(isl_val_is_one(Val(isl_aff_get_denominator_val(a.get())).get())))
    return {};
  AffineConstraint out;
  out.constant = to_int(isl_aff_get_constant_val(a.get()));
  for (const isl_dim_type type : {isl_dim_param, isl_dim_in})
    collect(out, a, type, isl_aff_dim, isl_aff_involves_dims, isl_aff_get_dim_name,
            isl_aff_get_coefficient_val);
  return out;
}

std::optional<AffineConstraints> AffineConstraints::of(const Set& s) {
  const std::vector<BasicSet> parts = parts_of(s);
  if (parts.size() != 1 || count(isl_basic_set_dim(parts[0].get(), isl_dim_div)) > 0) return {};
  AffineConstraints out;
  for (const Constraint& c : constraints_of(parts[0])) {
    AffineConstraint row = constraint_of(c);
    if (row.coefficients.size() == 1) {
      const auto& [name, a] = *row.coefficients.begin();
      if (a == 1 || (a == -1 && row.equality)) {
        const std::int64_t bound = -a * row.constant;
        const auto [it, fresh] = out.low_.emplace(name, bound);
        it->second = std::max(it->second, bound);
      }
      if (a == -1 || (a == 1 && row.equality)) {
        const std::int64_t bound = -a * row.constant;
        const auto [it, fresh] = out.high_.emplace(name, bound);
        it->second = std::min(it->second, bound);
      }
    }
    out.all_.push_back(std::move(row));
  }
  return out;
}

bool AffineConstraints::bounds_show(const AffineConstraint& row) const {
  std::int64_t least = row.constant;
  for (const auto& [name, a] : row.coefficients) {
    const auto& bounds = a > 0 ? low_ : high_;
    const auto it = bounds.find(name);
    std::int64_t part = 0;
    if (it == bounds.end() || __builtin_mul_overflow(a, it->second, &part) ||
        __builtin_add_overflow(least, part, &least))
      return false;
  }
  return least >= 0;
}

bool AffineConstraints::show(const AffineConstraint& row) const {
  if (bounds_show(row)) return true;
  for (const AffineConstraint& r : all_)
    for (const std::int64_t sign : {1, -1}) {
      if (sign < 0 && !r.equality) continue;
      AffineConstraint rest = row;
      bool fits = !__builtin_sub_overflow(rest.constant, sign * r.constant, &rest.constant);
      for (const auto& [name, a] : r.coefficients) {
        std::int64_t& c = rest.coefficients[name];
        fits = fits && !__builtin_sub_overflow(c, sign * a, &c);
        if (c == 0) rest.coefficients.erase(name);
      }
      if (fits && bounds_show(rest)) return true;
    }
  return false;
}

// ---- Points -----------------------------------------------------------------------------------

namespace {

/// A row by position.
struct Dense {
  std::vector<std::int64_t> factors;
  std::int64_t constant;
  bool equality;

  /// How far the point is outside, zero when it is inside.
  std::int64_t miss(const std::vector<std::int64_t>& point) const {
    std::int64_t sum = constant;
    for (std::size_t i = 0; i < factors.size(); ++i) sum += factors[i] * point[i];
    return equality ? sum : std::min<std::int64_t>(sum, 0);
  }
};

}  // namespace

bool has_near_point(const std::vector<const AffineConstraint*>& all) {
  std::map<std::string, std::size_t> at;
  for (const AffineConstraint* r : all)
    for (const auto& [name, a] : r->coefficients) at.emplace(name, at.size());
  const std::size_t names = at.size();
  std::vector<Dense> rows;
  for (const AffineConstraint* r : all) {
    rows.push_back({std::vector<std::int64_t>(names), r->constant, r->equality});
    for (const auto& [name, a] : r->coefficients) rows.back().factors[at.at(name)] = a;
  }
  constexpr std::int64_t kFar = 1 << 20;  // no overflow up to here
  for (const Dense& r : rows)
    for (const std::int64_t a : r.factors)
      if (a < -kFar || a > kFar) return false;
  std::vector<std::int64_t> point(names, 0);
  const auto broken = [&] {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const Dense& r) { return r.miss(point) != 0; });
  };
  for (std::size_t step = 0; step < 2 * rows.size(); ++step) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Dense& r) { return r.miss(point) != 0; });
    if (row == rows.end()) return true;
    const std::int64_t miss = row->miss(point);
    std::optional<std::pair<std::size_t, std::int64_t>> best;
    std::ptrdiff_t fewest = 0;
    for (std::size_t i = 0; i < names; ++i) {
      const std::int64_t a = row->factors[i];
      if (a == 0 || (row->equality && miss % a != 0)) continue;
      const std::int64_t old = point[i];
      const std::int64_t by = row->equality ? -miss / a
                              : a > 0       ? (a - 1 - miss) / a
                                            : -((-a - 1 - miss) / -a);
      if (std::abs(old + by) > kFar) continue;
      point[i] = old + by;
      const std::ptrdiff_t left = broken();
      if (!best || left < fewest) {
        best = {i, point[i]};
        fewest = left;
      }
      point[i] = old;
    }
    if (!best) return false;
    point[best->first] = best->second;
  }
  return broken() == 0;
}

bool is_empty(const Set& s) {
  if (const std::optional<AffineConstraints> rows = AffineConstraints::of(s)) {
    std::vector<const AffineConstraint*> all;
    for (const AffineConstraint& r : rows->all()) all.push_back(&r);
    if (has_near_point(all)) return false;
  }
  return yes(isl_set_is_empty(s.get()));
}

}  // namespace moonloop
