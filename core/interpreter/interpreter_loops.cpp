#include "core/interpreter/interpreter_loops.h"

#include <algorithm>
#include <limits>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop::interp {
namespace {

std::int64_t floor_of(std::int64_t a, std::int64_t b) {  // b > 0
  const std::int64_t q = a / b;
  return q - (a % b < 0);
}

/// The slots of the parameters and dimensions of a basic set's space.
struct Slots {
  std::vector<const std::int64_t*> params, dims;
};

/// Coefficients of a constraint, its last dimension separate.
struct SplitConstraint {
  std::int64_t last = 0;
  Affine rest;
};

template <class Coefficient>
void collect(Affine& out, const std::vector<const std::int64_t*>& slots, Coefficient get) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int64_t v = get(static_cast<int>(i));
    if (v != 0) out.terms.push_back({slots[i], v});
  }
}

std::int64_t coefficient(const Constraint& c, isl_dim_type type, int i) {
  return to_int(Val(isl_constraint_get_coefficient_val(c.get(), type, i)));
}

class Builder {
 public:
  Builder(const Set& points, const FindSlot& find) : find_(find) {
    for (const std::string& n : param_names(points)) slots_.params.push_back(require(n));
    for (const std::string& n : dim_names(points)) slots_.dims.push_back(require(n));
  }

  /// Without divs: they are eliminated first, which may let more points in.
  Range::Piece piece(BasicSet b) const {
    b = isl_basic_set_remove_divs(b.take());
    b = isl_basic_set_remove_redundancies(b.take());
    Range::Piece out;
    for (const Constraint& c : constraints_of(b)) {
      const bool equality = yes(isl_constraint_is_equality(c.get()));
      SplitConstraint row = read(c);
      if (row.last == 0) {
        (equality ? out.zero : out.not_negative).push_back(std::move(row.rest));
        continue;
      }
      if (equality || row.last > 0) out.lower.push_back({row.last, row.rest});
      if (equality || row.last < 0) out.upper.push_back({row.last, row.rest});
      if (!equality) continue;
      Affine opposite;
      opposite.constant = -row.rest.constant;
      for (const auto& t : row.rest.terms) opposite.terms.push_back({t.slot, -t.factor});
      (row.last > 0 ? out.upper : out.lower).back() = {-row.last, std::move(opposite)};
    }
    return out;
  }

  Membership membership(const BasicSet& b) const {
    Membership out;
    LocalSpace local = isl_basic_set_get_local_space(b.get());
    const int n = count(isl_local_space_dim(local.get(), isl_dim_div));
    std::vector<const std::int64_t*> divs;
    for (int i = 0; i < n; ++i) {
      Aff a = isl_local_space_get_div(local.get(), i);
      const std::int64_t denominator = to_int(Val(isl_aff_get_denominator_val(a.get())));
      const auto scaled = [&](Val v) {
        return to_int(Val(isl_val_mul_ui(v.take(), static_cast<unsigned long>(denominator))));
      };
      Membership::Div d{std::make_unique<std::int64_t>(0), {}, denominator};
      d.numerator.constant = scaled(isl_aff_get_constant_val(a.get()));
      const auto get = [&](isl_dim_type type) {
        return [&, type](int at) { return scaled(isl_aff_get_coefficient_val(a.get(), type, at)); };
      };
      collect(d.numerator, slots_.params, get(isl_dim_param));
      collect(d.numerator, slots_.dims, get(isl_dim_in));
      collect(d.numerator, divs, get(isl_dim_div));
      divs.push_back(d.slot.get());
      out.divs.push_back(std::move(d));
    }
    for (const Constraint& c : constraints_of(b)) {
      Affine a;
      a.constant = to_int(Val(isl_constraint_get_constant_val(c.get())));
      const auto get = [&](isl_dim_type type) {
        return [&c, type](int at) { return coefficient(c, type, at); };
      };
      collect(a, slots_.params, get(isl_dim_param));
      collect(a, slots_.dims, get(isl_dim_set));
      collect(a, divs, get(isl_dim_div));
      (yes(isl_constraint_is_equality(c.get())) ? out.zero : out.not_negative)
          .push_back(std::move(a));
    }
    return out;
  }

 private:
  const std::int64_t* require(const std::string& name) const {
    const std::int64_t* s = find_(name);
    if (!s) throw InternalError("interpreter: bounds need `" + name + "`, which has no value");
    return s;
  }

  SplitConstraint read(const Constraint& c) const {
    SplitConstraint row;
    row.rest.constant = to_int(Val(isl_constraint_get_constant_val(c.get())));
    collect(row.rest, slots_.params, [&](int i) { return coefficient(c, isl_dim_param, i); });
    collect(row.rest, {slots_.dims.begin(), slots_.dims.end() - 1},
            [&](int i) { return coefficient(c, isl_dim_set, i); });
    row.last = coefficient(c, isl_dim_set, static_cast<int>(slots_.dims.size()) - 1);
    return row;
  }

  const FindSlot& find_;
  Slots slots_;
};

}  // namespace

bool Membership::holds() const {
  for (const Div& d : divs) *d.slot = floor_of(d.numerator.get(), d.denominator);
  for (const Affine& a : zero)
    if (a.get() != 0) return false;
  for (const Affine& a : not_negative)
    if (a.get() < 0) return false;
  return true;
}

bool Range::hull(std::int64_t& first, std::int64_t& last) const {
  using L = std::numeric_limits<std::int64_t>;
  first = L::max(), last = L::min();
  for (const Piece& p : pieces) {
    const bool open =
        std::all_of(p.zero.begin(), p.zero.end(), [](auto& a) { return a.get() == 0; }) &&
        std::all_of(p.not_negative.begin(), p.not_negative.end(),
                    [](auto& a) { return a.get() >= 0; });
    if (!open) continue;
    std::int64_t low = L::min(), high = L::max();
    for (const Bound& b : p.lower) low = std::max(low, -floor_of(b.rest.get(), b.factor));
    for (const Bound& b : p.upper) high = std::min(high, floor_of(b.rest.get(), -b.factor));
    if (low > high) continue;
    first = std::min(first, low);
    last = std::max(last, high);
  }
  return first <= last;
}

bool Range::holds() const {
  return std::any_of(exact.begin(), exact.end(), [](const Membership& m) { return m.holds(); });
}

Range make_range(Set points, const Set& known, const FindSlot& find) {
  points = isl_set_compute_divs(coalesce(std::move(points)).take());
  Range out;
  const Builder builder(points, find);
  Set seen = points, context;
  if (known) {
    const std::vector<std::string> names = dim_names(points);
    context = to_dims(known, names);
    seen = gist(points, context);
    // The builder counts parameters as `points` has them.
    seen = isl_set_align_params(seen.take(), isl_set_get_space(points.get()));
  }
  const std::vector<BasicSet> all = parts_of(points);
  const auto without_divs = [](const std::vector<BasicSet>& list) {
    return list.size() == 1 && count(isl_basic_set_dim(list[0].get(), isl_dim_div)) == 0;
  };
  const bool simple = without_divs(all);
  const std::vector<BasicSet> shorter = parts_of(seen);
  for (const BasicSet& b : simple&& without_divs(shorter) ? shorter : all) {
    Range::Piece p = builder.piece(b);
    if (p.lower.empty() || p.upper.empty()) p = builder.piece(all[0]);
    if (p.lower.empty() || p.upper.empty()) {
      if (context && is_empty(isl_set_intersect(points.copy(), context.copy()))) return {};
      throw InternalError("interpreter: a loop without bounds");
    }
    out.pieces.push_back(std::move(p));
  }
  if (!simple)
    for (const BasicSet& b : all) out.exact.push_back(builder.membership(b));
  return out;
}

}  // namespace moonloop::interp
