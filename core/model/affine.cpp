#include "core/model/affine.h"

#include <algorithm>
#include <limits>

#include "core/model/conditions.h"
#include "core/model/domain.h"
#include "core/model/memo.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

using AffList = Owner<isl_aff_list, isl_aff_list_copy, isl_aff_list_free>;
using PwAffList = Owner<isl_pw_aff_list, isl_pw_aff_list_copy, isl_pw_aff_list_free>;

// ---- Reading.

/// Coefficients of the space's variables (dimensions, then parameters), then the constant.
using DenseRow = std::vector<std::int64_t>;

std::optional<std::int64_t> times(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
bool add_to(std::int64_t& a, std::int64_t b) { return !__builtin_add_overflow(a, b, &a); }

/// Reads expressions into one isl space; nothing where an expression is not quasi-affine.
///
/// Linear parts, by far the most, go into a row of coefficients and make one isl object; only the
/// rest takes isl's piecewise arithmetic.
class Reader {
 public:
  Reader(const Exprs& exprs, const std::vector<std::string>& dims) : dims_(dims) {
    for (std::size_t i = 0; i < dims.size(); ++i) place_.emplace(dims[i], i);
    for (const Expr& e : exprs) collect(e);
    space_ = isl_space_set_alloc(isl(), static_cast<unsigned>(params_.size()),
                                 static_cast<unsigned>(dims.size()));
    for (std::size_t i = 0; i < params_.size(); ++i)
      space_ = isl_space_set_dim_name(space_.take(), isl_dim_param, static_cast<unsigned>(i),
                                      params_[i].c_str());
    for (std::size_t i = 0; i < dims.size(); ++i)
      space_ = isl_space_set_dim_name(space_.take(), isl_dim_set, static_cast<unsigned>(i),
                                      dims[i].c_str());
  }

  const Space& space() const { return space_; }

  /// As one aff, when the expression is linear as written.
  std::optional<Aff> aff(const Expr& e) const {
    DenseRow row(place_.size() + 1);
    if (!linear(e, 1, row)) return std::nullopt;
    return make(row);
  }

  std::optional<PwAff> value(const Expr& e) const {
    if (auto a = aff(e)) return PwAff(isl_pw_aff_from_aff(a->take()));
    using R = std::optional<PwAff>;
    return e.visit(overload{
        [](const IntLit&) { return R(); },  // linear; handled above
        [](const FloatLit&) { return R(); }, [](const ComplexLit&) { return R(); },
        [&](const BoolLit& x) { return R(constant(x.value)); },
        [](const Var&) { return R(); },  // linear
        [](const Load&) { return R(); }, [](const Field&) { return R(); },
        [&](const Unary& x) { return unary(e, x); }, [&](const Binary& x) { return binary(x); },
        [&](const Nary& x) { return nary(e, x); }, [&](const Compare&) { return indicator(e); },
        [&](const Select& x) { return select(x); }, [&](const Call& x) { return function(x); },
        [](const Reduce&) { return R(); },
        [&](const Cast& x) { return keeps_value(x.type) ? value(x.arg) : R(); },
        [](const Slice&) { return R(); }, [](const SubArray&) { return R(); }});
  }

  std::optional<Set> condition(const Expr& e) const {
    if (const auto* b = e.as<BoolLit>()) return b->value ? everything() : nothing();
    if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Not) {
      auto s = condition(u->arg);
      if (s) s = Set(isl_set_complement(s->take()));
      return s;
    }
    if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
      const bool all = n->op == NaryOp::And;
      Set out = all ? everything() : nothing();
      for (const Expr& t : n->terms) {
        auto s = condition(t);
        if (!s) return std::nullopt;
        out = all ? isl_set_intersect(out.take(), s->take()) : isl_set_union(out.take(), s->take());
      }
      return out;
    }
    if (const auto* s = e.as<Select>()) {
      auto c = condition(s->cond), yes = condition(s->yes), no = condition(s->no);
      if (!c || !yes || !no) return std::nullopt;
      yes = Set(isl_set_intersect(yes->take(), c->copy()));
      no = Set(isl_set_subtract(no->take(), c->take()));
      return Set(isl_set_union(yes->take(), no->take()));
    }
    if (const auto* c = e.as<Compare>()) return compare(*c);
    auto v = value(e);  // a number means "not zero"
    if (!v) return std::nullopt;
    return Set(isl_set_subtract(everything().take(), isl_pw_aff_zero_set(v->take())));
  }

 private:
  void collect(const Expr& e) {
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>(); v && place_.emplace(v->name, place_.size()).second)
        params_.push_back(v->name);
      return !x.as<Load>() && !x.as<Reduce>();  // not quasi-affine: nothing comes of them
    });
  }

  /// A cast to one of these is assumed to fit: beyond them signed overflow would be undefined too.
  static bool keeps_value(const Type& t) {
    return !t.is_record() && (t.scalar == Scalar::I32 || t.scalar == Scalar::I64);
  }

  /// Adds `factor * e` to `row`; false when `e` is not linear or does not fit 64 bits.
  bool linear(const Expr& e, std::int64_t factor, DenseRow& row) const {
    if (const auto n = as_int(e)) {
      const auto p = times(*n, factor);
      return p && add_to(row.back(), *p);
    }
    if (const auto* v = e.as<Var>()) return add_to(row[place_.at(v->name)], factor);
    if (const auto* u = e.as<Unary>()) {
      const auto p = times(factor, -1);
      return negated(e) && p && linear(u->arg, *p, row);
    }
    if (const auto* c = e.as<Cast>()) return keeps_value(c->type) && linear(c->arg, factor, row);
    if (const auto* n = e.as<Nary>()) {
      if (n->op == NaryOp::Add)
        return std::all_of(n->terms.begin(), n->terms.end(),
                           [&](const Expr& t) { return linear(t, factor, row); });
      if (n->op == NaryOp::Mul) return product(n->terms, factor, row);
    }
    if (const auto* b = e.as<Binary>(); b && b->op == BinaryOp::Shl) {
      const auto n = fixed(b->right);
      const auto p = n && *n >= 0 && *n < 62 ? times(factor, std::int64_t{1} << *n) : std::nullopt;
      return p && linear(b->left, *p, row);
    }
    return false;
  }

  /// A product whose terms are constant but for one.
  bool product(const Exprs& terms, std::int64_t factor, DenseRow& row) const {
    const Expr* rest = nullptr;
    for (const Expr& t : terms) {
      if (const auto n = fixed(t)) {
        const auto p = times(factor, *n);
        if (!p) return false;
        factor = *p;
      } else if (rest) {
        return false;
      } else {
        rest = &t;
      }
    }
    return rest ? linear(*rest, factor, row) : add_to(row.back(), factor);
  }

  /// The value of an expression that is the same number everywhere.
  std::optional<std::int64_t> fixed(const Expr& e) const {
    if (const auto n = as_int(e)) return n;
    if (e.as<Var>()) return std::nullopt;
    DenseRow row(place_.size() + 1);
    if (!linear(e, 1, row)) return std::nullopt;
    if (std::any_of(row.begin(), row.end() - 1, [](std::int64_t c) { return c != 0; }))
      return std::nullopt;
    return row.back();
  }

  Aff make(const DenseRow& row) const {
    Aff a = isl_aff_zero_on_domain(isl_local_space_from_space(space_.copy()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      if (row[i] == 0) continue;
      const bool dim = i < dims_.size();
      a = isl_aff_set_coefficient_val(a.take(), dim ? isl_dim_in : isl_dim_param,
                                      static_cast<int>(dim ? i : i - dims_.size()),
                                      isl_val_int_from_si(isl(), row[i]));
    }
    if (row.back() != 0)
      a = isl_aff_set_constant_val(a.take(), isl_val_int_from_si(isl(), row.back()));
    return a;
  }

  PwAff constant(std::int64_t n) const {
    DenseRow row(place_.size() + 1);
    row.back() = n;
    return isl_pw_aff_from_aff(make(row).take());
  }
  Set everything() const { return isl_set_universe(space_.copy()); }
  Set nothing() const { return isl_set_empty(space_.copy()); }

  std::optional<PwAff> indicator(const Expr& e) const {
    auto s = condition(e);
    if (!s) return std::nullopt;
    return PwAff(isl_set_indicator_function(s->take()));
  }

  std::optional<PwAff> unary(const Expr& e, const Unary& x) const {
    if (x.op == UnaryOp::Not) return indicator(e);
    if (!negated(e)) return std::nullopt;
    auto v = value(x.arg);
    if (v) v = PwAff(isl_pw_aff_neg(v->take()));
    return v;
  }

  /// `floor(v / by)`.
  static PwAff floor_of(PwAff v, std::int64_t by) {
    if (by < 0) v = isl_pw_aff_neg(v.take()), by = -by;
    v = isl_pw_aff_scale_down_val(v.take(), isl_val_int_from_si(isl(), by));
    return isl_pw_aff_floor(v.take());
  }

  std::optional<PwAff> binary(const Binary& x) const {
    const auto by = fixed(x.right);
    auto v = by ? value(x.left) : std::nullopt;
    if (!v) return std::nullopt;
    const bool shift = x.op == BinaryOp::Shl || x.op == BinaryOp::Shr;
    if (shift ? *by < 0 || *by >= 62 : *by == 0 || *by == std::numeric_limits<std::int64_t>::min())
      return std::nullopt;
    const std::int64_t power = shift ? std::int64_t{1} << *by : 0;
    switch (x.op) {
      case BinaryOp::FloorDiv: return floor_of(std::move(*v), *by);
      case BinaryOp::Shr: return floor_of(std::move(*v), power);
      case BinaryOp::Shl:
        return PwAff(isl_pw_aff_scale_val(v->take(), isl_val_int_from_si(isl(), power)));
      case BinaryOp::Mod: {  // of the sign of the divisor
        PwAff whole = floor_of(*v, *by);
        whole = isl_pw_aff_scale_val(whole.take(), isl_val_int_from_si(isl(), *by));
        return PwAff(isl_pw_aff_sub(v->take(), whole.take()));
      }
      case BinaryOp::Div:  // in floating point
      case BinaryOp::Pow: return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<PwAff> nary(const Expr& e, const Nary& x) const {
    if (x.op == NaryOp::And || x.op == NaryOp::Or) return indicator(e);
    if (x.op == NaryOp::Add) {
      DenseRow row(place_.size() + 1);
      std::optional<PwAff> sum;
      for (const Expr& t : x.terms) {
        DenseRow next = row;
        if (linear(t, 1, next)) {
          row = std::move(next);
          continue;
        }
        auto v = value(t);
        if (!v) return std::nullopt;
        sum = sum ? PwAff(isl_pw_aff_add(sum->take(), v->take())) : std::move(*v);
      }
      if (!sum) return std::nullopt;
      PwAff rest = isl_pw_aff_from_aff(make(row).take());
      return PwAff(isl_pw_aff_add(sum->take(), rest.take()));
    }
    if (x.op != NaryOp::Mul) return std::nullopt;
    std::int64_t factor = 1;
    std::optional<PwAff> rest;
    for (const Expr& t : x.terms) {
      if (const auto n = fixed(t)) {
        const auto p = times(factor, *n);
        if (!p) return std::nullopt;
        factor = *p;
      } else {
        auto v = rest ? std::nullopt : value(t);
        if (!v) return std::nullopt;
        rest = std::move(v);
      }
    }
    if (!rest) return std::nullopt;
    return PwAff(isl_pw_aff_scale_val(rest->take(), isl_val_int_from_si(isl(), factor)));
  }

  std::optional<PwAff> select(const Select& x) const {
    auto c = condition(x.cond);
    auto yes = value(x.yes), no = value(x.no);
    if (!c || !yes || !no) return std::nullopt;
    yes = PwAff(isl_pw_aff_intersect_domain(yes->take(), c->copy()));
    no = PwAff(isl_pw_aff_intersect_domain(no->take(), isl_set_complement(c->take())));
    return PwAff(isl_pw_aff_union_add(yes->take(), no->take()));
  }

  /// `min(c, e mod d)` without cases. The remainder is the number of j < d - 1 with
  /// `floor((e + d - 1 - j)/d) > floor(e/d)`; the c first ones count here. Nothing where that takes
  /// many quotients.
  std::optional<PwAff> least_with_remainder(const Exprs& args) const {
    if (args.size() != 2) return std::nullopt;
    const bool swapped = args[1].as<Binary>() == nullptr;
    const auto* m = args[swapped ? 0 : 1].as<Binary>();
    const auto c = fixed(args[swapped ? 1 : 0]), d = m ? fixed(m->right) : std::nullopt;
    if (!m || m->op != BinaryOp::Mod || !c || !d || *d <= 0) return std::nullopt;
    if (*c <= 0) return value(m->left) ? std::optional(constant(*c)) : std::nullopt;
    if (*c >= *d - 1) return binary(*m);
    constexpr std::int64_t kMostQuotients = 2;
    const bool first = *c <= *d - 1 - *c;  // else those that do not count are fewer
    if (std::min(*c, *d - 1 - *c) > kMostQuotients) return std::nullopt;
    auto e = value(m->left), whole = first ? std::nullopt : binary(*m);
    if (!e || (!first && !whole)) return std::nullopt;
    const PwAff quotient = floor_of(*e, *d);
    PwAff out = first ? constant(0) : std::move(*whole);
    for (std::int64_t j = first ? 0 : *c; j < (first ? *c : *d - 1); ++j) {
      const PwAff shifted =
          isl_pw_aff_add_constant_val(e->copy(), isl_val_int_from_si(isl(), *d - 1 - j));
      PwAff counts = isl_pw_aff_sub(floor_of(shifted, *d).take(), quotient.copy());
      if (!first) counts = isl_pw_aff_neg(counts.take());
      out = isl_pw_aff_add(out.take(), counts.take());
    }
    return out;
  }

  std::optional<PwAff> function(const Call& x) const {
    const bool min = x.name == "min", max = x.name == "max";
    if (x.args.empty() || !(min || max || (x.name == "abs" && x.args.size() == 1)))
      return std::nullopt;
    if (min)
      if (auto whole = least_with_remainder(x.args)) return whole;
    std::optional<PwAff> out;
    for (const Expr& a : x.args) {
      auto v = value(a);
      if (!v) return std::nullopt;
      if (!min && !max) {
        PwAff negative = isl_pw_aff_neg(v->copy());
        v = PwAff(isl_pw_aff_max(v->take(), negative.take()));
      }
      if (out)
        out = PwAff(min ? isl_pw_aff_min(out->take(), v->take())
                        : isl_pw_aff_max(out->take(), v->take()));
      else
        out = std::move(v);
    }
    return out;
  }

  /// The points where `a >= 0` or `a == 0`.
  static Set where(Aff a, bool equality) {
    return isl_set_from_basic_set(equality ? isl_aff_zero_basic_set(a.take())
                                           : isl_aff_ge_basic_set(a.copy(), zero_like(a).take()));
  }
  static Aff zero_like(const Aff& a) {
    return isl_aff_zero_on_domain(isl_aff_get_domain_local_space(a.get()));
  }

  std::optional<Set> compare(const Compare& c) const {
    DenseRow row(place_.size() + 1);                               // left - right
    const auto lowest = std::numeric_limits<std::int64_t>::min();  // cannot be negated
    if (linear(c.left, 1, row) && linear(c.right, -1, row) &&
        std::find(row.begin(), row.end(), lowest) == row.end()) {
      const auto at_least = [&](std::int64_t sign, std::int64_t shift) {
        DenseRow r = row;
        for (std::int64_t& n : r) n *= sign;
        r.back() += shift;
        return where(make(r), false);
      };
      switch (c.op) {
        case CompareOp::Eq: return where(make(row), true);
        case CompareOp::Ne:
          return Set(isl_set_union(at_least(1, -1).take(), at_least(-1, -1).take()));
        case CompareOp::Ge: return at_least(1, 0);
        case CompareOp::Gt: return at_least(1, -1);
        case CompareOp::Le: return at_least(-1, 0);
        case CompareOp::Lt: return at_least(-1, -1);
      }
    }
    auto l = value(c.left), r = value(c.right);
    if (!l || !r) return std::nullopt;
    isl_pw_aff *a = l->take(), *b = r->take();
    switch (c.op) {
      case CompareOp::Eq: return Set(isl_pw_aff_eq_set(a, b));
      case CompareOp::Ne: return Set(isl_pw_aff_ne_set(a, b));
      case CompareOp::Ge: return Set(isl_pw_aff_ge_set(a, b));
      case CompareOp::Gt: return Set(isl_pw_aff_gt_set(a, b));
      case CompareOp::Le: return Set(isl_pw_aff_le_set(a, b));
      case CompareOp::Lt: return Set(isl_pw_aff_lt_set(a, b));
    }
    return std::nullopt;
  }

  const std::vector<std::string>& dims_;
  std::map<std::string, std::size_t> place_;  // in a row: dimensions, then parameters
  std::vector<std::string> params_;
  Space space_;
};

}  // namespace

std::optional<PwAff> to_affine(const Expr& e, const std::vector<std::string>& dims) {
  if (e.as<Var>() || e.as<IntLit>()) return Reader({e}, dims).value(e);
  std::string key = to_string(e);
  for (const std::string& d : dims) key += ";" + d;
  auto& known = memo().values;
  if (const auto it = known.find(key); it != known.end()) return it->second;
  std::optional<PwAff> value = Reader({e}, dims).value(e);
  if (value) known.emplace(std::move(key), *value);
  return value;
}

std::optional<Set> to_condition(const Expr& e, const std::vector<std::string>& dims) {
  std::string key = to_string(e);
  for (const std::string& d : dims) key += ";" + d;
  auto& known = memo().conditions;
  if (const auto it = known.find(key); it != known.end()) return it->second;
  std::optional<Set> points = Reader({e}, dims).condition(e);
  if (points) known.emplace(std::move(key), *points);
  return points;
}

bool is_of_instances(const Kernel& k, const Expr& e) {
  std::set<std::string> names;
  collect_vars(e, names);
  const auto bounds = [&](const std::string& n) {  // what bounds a loop is an integer
    return std::any_of(k.domains.begin(), k.domains.end(), [&](const Domain& d) {
      return isl_set_find_dim_by_name(d.set.get(), isl_dim_param, n.c_str()) >= 0;
    });
  };
  return std::all_of(names.begin(), names.end(), [&](const std::string& n) {
    if (k.find_temporary(n)) return false;
    const Argument* a = k.find_arg(n);
    if (!a) return true;
    return !a->is_array &&
           (a->type ? !a->type->is_record() && is_integer(a->type->scalar) : bounds(n));
  });
}

std::optional<Set> to_condition(const Kernel& k, const Expr& e,
                                const std::vector<std::string>& dims) {
  return is_of_instances(k, e) ? to_condition(e, dims) : std::nullopt;
}

static std::optional<Map> read_map(const Exprs& exprs, const std::vector<std::string>& dims) {
  const Reader reader(exprs, dims);
  Space range = isl_space_add_dims(isl_space_params(reader.space().copy()), isl_dim_set,
                                   static_cast<unsigned>(exprs.size()));
  Space space = isl_space_map_from_domain_and_range(reader.space().copy(), range.take());
  AffList affs = isl_aff_list_alloc(isl(), static_cast<int>(exprs.size()));
  bool all_linear = true;
  for (const Expr& e : exprs) {
    auto a = reader.aff(e);
    if (!(all_linear = a.has_value())) break;
    affs = isl_aff_list_add(affs.take(), a->take());
  }
  if (all_linear)
    return Map(isl_map_from_multi_aff(isl_multi_aff_from_aff_list(space.take(), affs.take())));
  PwAffList values = isl_pw_aff_list_alloc(isl(), static_cast<int>(exprs.size()));
  for (const Expr& e : exprs) {
    auto v = reader.value(e);
    if (!v) return std::nullopt;
    values = isl_pw_aff_list_add(values.take(), v->take());
  }
  return Map(
      isl_map_from_multi_pw_aff(isl_multi_pw_aff_from_pw_aff_list(space.take(), values.take())));
}

std::optional<Map> to_map(const Exprs& exprs, const std::vector<std::string>& dims) {
  std::string key = "values " + to_string(exprs);
  for (const std::string& d : dims) key += ";" + d;
  auto& known = memo().maps;
  if (const auto it = known.find(key); it != known.end()) return it->second;
  std::optional<Map> m = read_map(exprs, dims);
  if (m) known.emplace(std::move(key), *m);
  return m;
}

// ---- Writing.

namespace {

/// constant + sum of coefficient*base, over `denominator`: dimensions in order, then parameters,
/// then roundings.
struct Terms {
  std::int64_t constant = 0, denominator = 1;
  std::vector<std::pair<std::int64_t, Expr>> list;
};

Expr sum_of(const Terms& t, std::int64_t sign, bool positive, std::int64_t constant) {
  Exprs out;
  for (const auto& [c, base] : t.list)
    if ((c > 0) == positive) out.push_back(index_mul(lit(sign * c), base));
  if (constant != 0 || out.empty()) out.push_back(lit(constant));
  return index_add(out);
}

Expr total(const Terms& t) {
  Exprs out;
  for (const auto& [c, base] : t.list) out.push_back(index_mul(lit(c), base));
  if (t.constant != 0 || out.empty()) out.push_back(lit(t.constant));
  Expr sum = index_add(out);
  if (t.denominator == 1) return sum;
  return Expr(Binary{BinaryOp::FloorDiv, std::move(sum), lit(t.denominator)});
}

/// The integer coefficients of an isl_aff over its denominator.
struct Coefficients {
  std::int64_t constant = 0, denominator = 1;
  std::vector<std::int64_t> dims, params, divs;

  explicit Coefficients(const Aff& a) {
    denominator = to_int(Val(isl_aff_get_denominator_val(a.get())));
    const Val scale = isl_val_int_from_si(isl(), denominator);
    const auto whole = [&](Val v) { return to_int(Val(isl_val_mul(v.take(), scale.copy()))); };
    const auto all = [&](isl_dim_type type, std::vector<std::int64_t>& out) {
      const int n = count(isl_aff_dim(a.get(), type));
      for (int i = 0; i < n; ++i)
        out.push_back(whole(isl_aff_get_coefficient_val(a.get(), type, i)));
    };
    constant = whole(isl_aff_get_constant_val(a.get()));
    all(isl_dim_in, dims);
    all(isl_dim_param, params);
    all(isl_dim_div, divs);
  }

  /// Some variable has `k` times its coefficient in `o`.
  bool shares(const Coefficients& o, std::int64_t k) const {
    const auto in = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
      for (std::size_t i = 0; i < b.size(); ++i)
        if (b[i] != 0 && a[i] == k * b[i]) return true;
      return false;
    };
    return in(dims, o.dims) || in(params, o.params);
  }
  void subtract(const Coefficients& o, std::int64_t k) {
    const auto from = [&](std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
      for (std::size_t i = 0; i < b.size(); ++i) a[i] -= k * b[i];
    };
    from(dims, o.dims), from(params, o.params), from(divs, o.divs);
    constant -= k * o.constant;
  }
};

std::string name_of(const Aff& a, isl_dim_type type, std::size_t i) {
  const char* name = isl_aff_get_dim_name(a.get(), type, static_cast<unsigned>(i));
  if (!name) throw IslError("a dimension without a name");
  return name;
}

/// Whether all terms have negative factors.
bool falls(const Terms& t) {
  return !t.list.empty() &&
         std::all_of(t.list.begin(), t.list.end(), [](const auto& term) { return term.first < 0; });
}

Terms terms_of(const Aff& a) {
  Coefficients c(a);
  Terms out;
  std::vector<std::pair<std::int64_t, Expr>> rounded;
  // x - d*floor(x/d) is x % d; isl may have moved multiples of d out of x. Later divs may use
  // earlier ones, so the last comes first.
  for (std::size_t i = c.divs.size(); i-- > 0;) {
    if (c.divs[i] == 0) continue;
    const Aff div = isl_aff_get_div(a.get(), static_cast<int>(i));
    Coefficients inner(div);
    const std::int64_t d = inner.denominator, k = -c.divs[i] / d;
    Terms part = terms_of(div);
    part.denominator = 1;
    if (c.divs[i] % d == 0 && c.shares(inner, k)) {
      c.subtract(inner, k);
      rounded.emplace_back(k, Expr(Binary{BinaryOp::Mod, total(part), lit(d)}));
    } else {
      std::int64_t factor = c.divs[i];
      if (factor < 0 && falls(part)) {  // -floor(-x/d) is floor((x + d - 1)/d)
        factor = -factor;
        for (auto& term : part.list) term.first = -term.first;
        part.constant = d - 1 - part.constant;
        const std::int64_t rest = part.constant % d;  // whole ones come out
        c.constant += factor * ((part.constant - rest) / d);
        part.constant = rest;
      }
      rounded.emplace_back(factor, Expr(Binary{BinaryOp::FloorDiv, total(part), lit(d)}));
    }
    c.divs[i] = 0;
  }
  const auto plain = [&](isl_dim_type type, const std::vector<std::int64_t>& factors) {
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (factors[i] != 0) out.list.emplace_back(factors[i], var(name_of(a, type, i)));
  };
  plain(isl_dim_in, c.dims);
  plain(isl_dim_param, c.params);
  out.list.insert(out.list.end(), rounded.rbegin(), rounded.rend());
  out.constant = c.constant;
  out.denominator = c.denominator;
  return out;
}

/// `a >= 0` or `a == 0` with positive coefficients only, the innermost name on the left.
Expr comparison(const Aff& a, bool equality) {
  const Terms t = terms_of(a);
  const auto make = [](CompareOp op, Expr l, Expr r) {
    return Expr(Compare{op, std::move(l), std::move(r)});
  };
  if (t.list.empty()) return Expr(BoolLit{equality ? t.constant == 0 : t.constant >= 0});
  const bool sides[2] = {
      std::any_of(t.list.begin(), t.list.end(), [](const auto& e) { return e.first < 0; }),
      std::any_of(t.list.begin(), t.list.end(), [](const auto& e) { return e.first > 0; })};
  bool positive_left = sides[1];
  if (sides[0] && sides[1]) {  // the last dimension, or else the first name, decides
    positive_left = t.list.front().first > 0;
    const auto n = static_cast<std::size_t>(count(isl_aff_dim(a.get(), isl_dim_in)));
    for (std::size_t i = 0; i < n; ++i)
      if (const Val v = isl_aff_get_coefficient_val(a.get(), isl_dim_in, static_cast<int>(i));
          isl_val_sgn(v.get()) != 0)
        positive_left = isl_val_sgn(v.get()) > 0;
  }
  const bool strict = !equality && t.constant == -1 && sides[0] && sides[1];
  const std::int64_t c = strict ? 0 : t.constant;
  if (positive_left)
    return make(equality ? CompareOp::Eq
                : strict ? CompareOp::Gt
                         : CompareOp::Ge,
                sum_of(t, 1, true, 0), sum_of(t, -1, false, -c));
  return make(equality ? CompareOp::Eq
              : strict ? CompareOp::Lt
                       : CompareOp::Le,
              sum_of(t, -1, false, 0), sum_of(t, 1, true, c));
}

Expr disjunction(Exprs terms) {
  if (terms.empty()) return Expr(BoolLit{false});
  if (terms.size() == 1) return terms.front();
  return Expr(Nary{NaryOp::Or, std::move(terms)});
}

struct Piece {
  Set domain;
  Aff value;

  /// The first dimension, or else parameter, of the value: the sort key of `min` and `max`.
  int first_name() const {
    int before = 0;
    for (const isl_dim_type type : {isl_dim_in, isl_dim_param}) {
      const int n = count(isl_aff_dim(value.get(), type));
      for (int i = 0; i < n; ++i)
        if (yes(isl_aff_involves_dims(value.get(), type, static_cast<unsigned>(i), 1)))
          return before + i;
      before += n;
    }
    return before;
  }
};

/// Pieces of different values; those of the same value are one.
std::vector<Piece> pieces_of(const PwAff& a) {
  std::vector<Piece> all, out;
  const auto add = [](isl_set* s, isl_aff* v, void* to) {
    static_cast<std::vector<Piece>*>(to)->push_back({Set(s), Aff(v)});
    return isl_stat_ok;
  };
  check(isl_pw_aff_foreach_piece(a.get(), add, &all));
  for (Piece& p : all) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Piece& o) {
      return yes(isl_aff_plain_is_equal(o.value.get(), p.value.get()));
    });
    if (same == out.end())
      out.push_back(std::move(p));
    else
      same->domain = coalesce(isl_set_union(same->domain.take(), p.domain.take()));
  }
  return out;
}

/// The least or greatest of the pieces' values, when `a` equals that everywhere.
std::optional<Expr> as_extremum(const PwAff& a, std::vector<Piece> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& x, const Piece& y) { return x.first_name() < y.first_name(); });
  const Set domain = isl_pw_aff_domain(a.copy());
  for (const bool min : {true, false}) {
    PwAff all = isl_pw_aff_from_aff(pieces.front().value.copy());
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      isl_pw_aff* next = isl_pw_aff_from_aff(pieces[i].value.copy());
      all = min ? isl_pw_aff_min(all.take(), next) : isl_pw_aff_max(all.take(), next);
    }
    all = isl_pw_aff_intersect_domain(all.take(), domain.copy());
    if (!yes(isl_pw_aff_is_equal(all.get(), a.get()))) continue;
    Expr out = from_aff(pieces.front().value);
    for (std::size_t i = 1; i < pieces.size(); ++i)
      out = call(min ? "min" : "max", {std::move(out), from_aff(pieces[i].value)});
    return out;
  }
  return std::nullopt;
}

}  // namespace

Expr from_aff(const Aff& a) { return total(terms_of(a)); }

/// `s` where `known` holds. isl 0.25 fails an assertion of its own ("n_div") on some sets that
/// differ in their unknown quotients; these stay as they are.
static Set gist_of(const Set& s, const Set& known) {
  try {
    return gist(s, known);
  } catch (const IslError&) { return s; }
}

Expr from_affine(const PwAff& given) {
  const PwAff a = isl_pw_aff_coalesce(given.copy());
  const std::vector<Piece> pieces = pieces_of(a);
  if (pieces.empty()) return lit(0);  // defined nowhere: its value is never used
  if (pieces.size() == 1) return from_aff(pieces.front().value);
  constexpr std::size_t kMostTerms = 4;
  if (pieces.size() <= kMostTerms)
    if (auto e = as_extremum(a, pieces)) return *e;
  // Each condition is simplified given what the pieces before it left.
  std::vector<Expr> conditions;
  Set left = isl_pw_aff_domain(a.copy());
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    conditions.push_back(from_set(gist_of(pieces[i].domain, left)));
    left = isl_set_subtract(left.take(), pieces[i].domain.copy());
  }
  Expr out = from_aff(pieces.back().value);
  for (std::size_t i = pieces.size() - 1; i-- > 0;)
    out = Expr(Select{conditions[i], from_aff(pieces[i].value), std::move(out)});
  return out;
}

Expr from_set(const Set& given) {
  constexpr unsigned long kSimplerOperations = 200'000;
  Set s = isl_set_compute_divs(given.copy());
  try {
    const IslBudget budget(kSimplerOperations);
    Set simpler = coalesce(isl_set_remove_redundancies(s.copy()));
    s = isl_set_compute_divs(simpler.take());  // parts that became one may have new ones
  } catch (const IslQuota&) {}                 // more conditions than needed
  Exprs any;
  for (const BasicSet& part : parts_of(s)) {
    Exprs all;
    for (const Constraint& c : constraints_of(part))
      if (!yes(isl_constraint_is_div_constraint(c.get())))  // those hold by themselves
        all.push_back(comparison(Aff(isl_constraint_get_aff(c.get())),
                                 yes(isl_constraint_is_equality(c.get()))));
    any.push_back(conjunction(all));
  }
  return disjunction(std::move(any));
}

}  // namespace moonloop
