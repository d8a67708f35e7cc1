#include <algorithm>
#include <cmath>

#include "codegen/plan/ast.h"
#include "codegen/plan/domains.h"
#include "codegen/print/c_expr.h"
#include "core/model/domain.h"
#include "core/order/two_instances.h"
#include "core/sets/budget.h"

// Knowledge about the values of integer expressions: signs, and whether 32 bits hold them.
namespace moonloop {
namespace {

/// Beyond 32 bits by as much as constants next to an iname or a parameter may be: these are 32 bits
/// wide themselves, so the loops of a kernel that needs more would be wrong too.
constexpr unsigned long kOperations = 100'000;  // of isl, on one expression
constexpr double kSlack = 65536, kMost = 2147483647.0 + kSlack;

bool within(double low, double high) { return low >= -kMost && high <= kMost; }
double magnitude(double low, double high) { return std::max(std::abs(low), std::abs(high)); }

}  // namespace

/// The least or greatest value that a parameter, or an iname in its domain, can have, when there is
/// one.
std::optional<std::int64_t> CExpr::extreme(const std::string& name, bool least) {
  const auto [it, fresh] = extremes_.try_emplace({name, least});
  if (!fresh) return it->second;
  Set s = inames_.count(name) ? domain_of(k_, {name}) : context_of(k_);
  if (dim_names(s).empty()) s = to_dims(s, {name});
  const Aff x =
      isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(s.get())), isl_dim_set, 0);
  Val value = least ? isl_set_min_val(s.get(), x.get()) : isl_set_max_val(s.get(), x.get());
  if (yes(isl_val_is_int(value.get()))) it->second = to_int(value);
  return it->second;
}

/// The least value of a parameter for which the current instruction runs at all.
std::optional<std::int64_t> CExpr::least_where_run(const std::string& name) {
  const std::set<std::string>& loops = k_.instructions[static_cast<std::size_t>(insn_)]->inames;
  const auto [it, fresh] =
      least_where_run_.try_emplace(fmt::format("{} {}", name, fmt::join(loops, " ")));
  if (!fresh) return it->second;
  try {
    const IslBudget budget(kOperations);
    const Set s = to_dims(domain_of(k_, {loops.begin(), loops.end()}), {name});
    const Val value = isl_set_dim_min_val(s.copy(), 0);
    if (yes(isl_val_is_int(value.get()))) it->second = to_int(value);
  } catch (const IslQuota&) {
    // not known
  }
  return it->second;
}

std::optional<std::int64_t> CExpr::lowest(const std::string& name) {
  if (!inames_.count(name)) {
    const auto everywhere = extreme(name, true);
    return everywhere || !within_domains_ || insn_ < 0 ? everywhere : least_where_run(name);
  }
  if (within_domains_) return extreme(name, true);
  const auto it = runs_from_.find(name);
  return it == runs_from_.end() ? std::nullopt : it->second;
}

void CExpr::runs_from(const std::string& iname, const Expr& first) {
  runs_from_[iname] = least(first);
}

/// A value that `e` never goes below, where one is easily seen.
std::optional<std::int64_t> CExpr::least(const Expr& e) {
  if (const auto n = as_int(e)) return n;
  if (const auto* v = e.as<Var>())
    if (!k_.find_temporary(v->name) && type_of_name(v->name) == Type(k_.index_type))
      if (const auto low = lowest(v->name)) return low;
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add) {
    std::int64_t sum = 0;
    for (const Expr& t : n->terms) {
      const auto low = least(t);
      if (!low || __builtin_add_overflow(sum, *low, &sum)) return std::nullopt;
    }
    return sum;
  }
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul) {
    std::int64_t product = 1;
    for (const Expr& f : n->terms) {
      const auto low = least(f);
      if (!low || *low < 0 || __builtin_mul_overflow(product, *low, &product)) return std::nullopt;
    }
    return product;
  }
  if (const auto* s = e.as<Select>()) {
    const auto yes = least(s->yes), no = least(s->no);
    return yes && no ? std::optional(std::min(*yes, *no)) : std::nullopt;
  }
  const auto* c = e.as<Call>();
  if (c && (c->name == "min" || c->name == "max")) {
    std::optional<std::int64_t> out;
    for (const Expr& a : c->args) {
      const auto low = least(a);
      if (!low && c->name == "min") return std::nullopt;
      if (low && (!out || (c->name == "min" ? *low < *out : *low > *out))) out = low;
    }
    return out;
  }
  return not_negative(e) ? std::optional<std::int64_t>(0) : std::nullopt;
}

bool CExpr::not_negative(const Expr& e) {
  const auto all = [&](const Exprs& es) {
    return std::all_of(es.begin(), es.end(), [&](const Expr& x) { return not_negative(x); });
  };
  if (const auto n = as_int(e)) return *n >= 0;
  if (const auto* v = e.as<Var>()) {
    const auto known = types_.find(v->name);
    if (known == types_.end() || !known->second || known->second->is_record()) return false;
    if (is_unsigned(known->second->scalar)) return true;
    if (k_.find_temporary(v->name) || !is_integer(known->second->scalar)) return false;
    const auto low = lowest(v->name);
    return low && *low >= 0;
  }
  if (const auto* n = e.as<Nary>())
    return (n->op == NaryOp::Add || n->op == NaryOp::Mul) && all(n->terms);
  if (const auto* s = e.as<Select>()) return not_negative(s->yes) && not_negative(s->no);
  if (const auto* b = e.as<Binary>()) {
    if (b->op == BinaryOp::FloorDiv) return not_negative(b->left) && positive(b->right);
    return b->op == BinaryOp::Mod && positive(b->right);
  }
  if (const auto* c = e.as<Call>())
    return (is_truncated(*c) || c->name == "min")
               ? all(c->args)
               : c->name == "max" && std::any_of(c->args.begin(), c->args.end(),
                                                 [&](const Expr& x) { return not_negative(x); });
  return false;
}

bool CExpr::positive(const Expr& e) {
  if (const auto n = as_int(e)) return *n > 0;
  if (const auto* v = e.as<Var>(); v && not_negative(e)) {
    if (is_unsigned(types_.at(v->name)->scalar)) return true;
    return lowest(v->name).value_or(0) > 0;
  }
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul)
    return std::all_of(n->terms.begin(), n->terms.end(),
                       [&](const Expr& x) { return positive(x); });
  return false;
}

/// Bounds of an expression of integers; with `exactly`, by the domains of its inames.
CExpr::Range CExpr::range(const Expr& e, bool exactly) {
  const auto of_type = [&](const std::string& name) -> Range {
    const Type& t = type_of_name(name);
    const double most =
        !t.is_record() && size_of(t.scalar) == 8 ? 9223372036854775807.0 : 2147483647.0;
    return {-most - 1, most};
  };
  if (const auto n = as_int(e)) return {static_cast<double>(*n), static_cast<double>(*n)};
  if (const auto* l = e.as<Load>()) return of_type(l->array);
  if (const auto* v = e.as<Var>()) {
    Range out = of_type(v->name);
    const bool fixed = inames_.count(v->name) || args_.count(v->name);
    if (!fixed || !(type_of_name(v->name) == Type(k_.index_type))) return out;
    if (const auto low = extreme(v->name, true)) out.low = static_cast<double>(*low);
    if (!exactly) return out;
    if (const auto high = extreme(v->name, false)) out.high = static_cast<double>(*high);
    return out;
  }
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Neg) {
    const Range r = range(u->arg, exactly);
    return {-r.high, -r.low};
  }
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::Add || n->op == NaryOp::Mul)) {
    Range out = range(n->terms[0], exactly);
    for (std::size_t i = 1; i < n->terms.size(); ++i) {
      const Range r = range(n->terms[i], exactly);
      if (n->op == NaryOp::Add) {
        out = {out.low + r.low, out.high + r.high};
        continue;
      }
      const auto [low, high] =
          std::minmax({out.low * r.low, out.low * r.high, out.high * r.low, out.high * r.high});
      out = {low, high};
    }
    return out;
  }
  const auto* b = e.as<Binary>();
  const auto* c = e.as<Call>();
  const bool quotient = (b && b->op == BinaryOp::FloorDiv) || (c && c->name == kTruncDiv);
  if (quotient || (b && b->op == BinaryOp::Mod) || (c && c->name == kTruncMod)) {
    const Expr &left = b ? b->left : c->args[0], &right = b ? b->right : c->args[1];
    const Range l = range(left, exactly), r = range(right, exactly);
    const auto divisor = as_int(right);
    if (quotient && divisor && *divisor > 0) {
      const auto d = static_cast<double>(*divisor);
      return {std::floor(l.low / d), std::ceil(l.high / d)};
    }
    const double most = quotient ? magnitude(l.low, l.high) : magnitude(r.low, r.high);
    return {!quotient && b && r.low > 0 ? 0 : -most, most};
  }
  if (c && (c->name == "min" || c->name == "max")) {
    Range out = range(c->args[0], exactly);
    for (const Expr& a : c->args) {
      const Range r = range(a, exactly);
      out = c->name == "min" ? Range{std::min(out.low, r.low), std::min(out.high, r.high)}
                             : Range{std::max(out.low, r.low), std::max(out.high, r.high)};
    }
    return out;
  }
  if (const auto* s = e.as<Select>()) {
    const Range yes = range(s->yes, exactly), no = range(s->no, exactly);
    return {std::min(yes.low, no.low), std::max(yes.high, no.high)};
  }
  return {-2147483648.0, 2147483647.0};  // conditions, numbers of work-items and of groups
}

/// Whether 32 bits hold the value and all that comes up on the way to it, in any order.
bool CExpr::fits(const Expr& e, bool exactly) {
  bool parts = true;
  for_each_child(e, [&](const Expr& x) { parts = parts && (e.as<Load>() || fits(x, exactly)); });
  if (!parts) return false;
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::Add || n->op == NaryOp::Mul)) {
    double low = 0, high = 0, product = 1;
    for (const Expr& t : n->terms) {
      const Range r = range(t, exactly);
      low += std::min(0.0, r.low);
      high += std::max(0.0, r.high);
      product *= std::max(1.0, magnitude(r.low, r.high));
    }
    return n->op == NaryOp::Add ? within(low, high) : product <= kMost;
  }
  const Range r = range(e, exactly);
  return within(r.low, r.high);
}

/// Whether 32 bits hold an affine expression at all points of its inames' domains, where parameters
/// have no more than 32 themselves.
bool CExpr::stays_small(const Expr& e) {
  std::int64_t constant = 0;  // copies of a loop differ by it
  Expr rest = e;
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add) {
    Exprs terms;
    for (const Expr& t : n->terms) {
      const auto value = as_int(t);
      if (!value || __builtin_add_overflow(constant, *value, &constant)) terms.push_back(t);
    }
    if (terms.empty()) return false;
    rest = index_add(std::move(terms));
  }
  const auto [it, fresh] = greatest_.try_emplace(to_string(rest));
  Most& known = it->second;
  if (fresh && plainly_at_most(rest, INT32_MAX)) known.value = INT32_MAX;
  const auto small = [&] {
    std::int64_t most = 0;
    return known.value && !__builtin_add_overflow(*known.value, constant, &most) &&
           within(0, static_cast<double>(most));
  };
  if (small() || known.exact) return small();
  known = {greatest(rest), true};
  return small();
}

/// Whether linear constraints show without isl that an affine expression is at most that, as
/// `greatest` has it.
bool CExpr::plainly_at_most(const Expr& e, std::int64_t most) const {
  std::set<std::string> names;
  collect_reads(e, names);
  std::vector<std::string> dims;
  for (const std::string& n : names) {
    if (!inames_.count(n) && !args_.count(n)) return false;
    if (inames_.count(n)) dims.push_back(n);
  }
  if (dims.empty()) return false;
  const Set points = domain_of(k_, dims);
  TwoInstances one;
  const auto fixed = [&](const std::string& name) { return args_.count(name) > 0; };
  if (!one.add(0, dims, points)) return false;
  const auto value = one.value(e, one.values(0), fixed);
  auto beyond = value ? weighted_sum(1, *value, 0, {}) : std::nullopt;
  if (!beyond || __builtin_sub_overflow(beyond->constant, most + 1, &beyond->constant))
    return false;
  for (const auto& params :
       {param_names(points), std::vector<std::string>(names.begin(), names.end())})
    for (const std::string& p : params)
      if (const auto parameter = inames_.count(p) ? std::nullopt : one.value(var(p), {}, fixed))
        if (auto below = weighted_sum(-1, *parameter, 0, {})) {
          below->constant += INT32_MAX;
          one.proof.not_negative(*below);
        }
  one.take_in();
  one.proof.not_negative(*beyond);
  return one.proof.impossible();
}

/// Of an affine expression, at the points of its inames' domains, where parameters have no more
/// than 32 bits; nothing where it is not known, or where no iname is in it.
std::optional<std::int64_t> CExpr::greatest(const Expr& e) const {
  std::set<std::string> names;
  collect_reads(e, names);
  std::vector<std::string> dims;
  for (const std::string& n : names) {
    if (!inames_.count(n) && !args_.count(n)) return {};
    if (inames_.count(n)) dims.push_back(n);
  }
  if (dims.empty()) return {};
  try {
    const IslBudget budget(kOperations);
    const auto value = to_affine(e, dims);
    if (!value) return {};
    Set points = domain_of(k_, dims);
    points = isl_set_align_params(points.take(), isl_pw_aff_get_space(value->get()));
    for (const std::string& p : param_names(points)) {
      const int at = isl_set_find_dim_by_name(points.get(), isl_dim_param, p.c_str());
      points = isl_set_upper_bound_si(points.take(), isl_dim_param, static_cast<unsigned>(at),
                                      INT32_MAX);
    }
    Set values = isl_set_apply(points.take(), isl_map_from_pw_aff(value->copy()));
    const Val high = isl_set_dim_max_val(values.take(), 0);
    if (yes(isl_val_is_int(high.get()))) return to_int(high);
  } catch (const IslQuota&) {
    // not known
  }
  return {};
}

/// Whether an affine expression has no values but these at all points of its inames' domains.
bool CExpr::stays_within(const Expr& e, std::int64_t low, std::int64_t high) {
  const Range r = range(e, true);
  if (r.low >= static_cast<double>(low) && r.high <= static_cast<double>(high)) return true;
  const auto [it, fresh] =
      stays_within_.try_emplace(fmt::format("{} {} {}", to_string(e), low, high), false);
  if (!fresh) return it->second;
  std::set<std::string> names;
  collect_reads(e, names);
  std::erase_if(names, [&](const std::string& n) { return !inames_.count(n); });
  const std::vector<std::string> dims(names.begin(), names.end());
  try {
    const IslBudget budget(kOperations);
    const auto inside = to_condition(conjunction({Expr(Compare{CompareOp::Le, lit(low), e}),
                                                  Expr(Compare{CompareOp::Le, e, lit(high)})}),
                                     dims);
    it->second = inside && yes(isl_set_is_subset(domain_of(k_, dims).get(), inside->get()));
  } catch (const IslQuota&) {
    // not known
  }
  return it->second;
}

bool CExpr::fits(const Expr& e) {
  if (fits(e, false) || fits(e, true)) return true;
  const auto* b = e.as<Binary>();
  const auto* c = e.as<Call>();
  if (b && as_int(b->right).value_or(0) > 0) return fits(b->left);
  if (c && is_truncated(*c) && as_int(c->args[1]).value_or(0) > 0) return fits(c->args[0]);
  const auto* n = e.as<Nary>();
  return n && n->op == NaryOp::Add && grows(e) && stays_small(e);
}

/// A sum of terms that are not negative: no part of it is more than the whole.
bool CExpr::grows(const Expr& e) {
  const auto* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add)
    return std::all_of(n->terms.begin(), n->terms.end(), [&](const Expr& t) {
      const auto constant = as_int(t);
      return constant ? std::abs(static_cast<double>(*constant)) <= kSlack
                      : not_negative(t) && grows(t);
    });
  if (n && n->op == NaryOp::Mul) {
    int variables = 0;
    for (const Expr& f : n->terms) {
      const auto constant = as_int(f);
      if (constant ? *constant < 1 : !not_negative(f) || !grows(f) || ++variables > 1) return false;
    }
    return true;
  }
  return fits(e);
}

/// Whether 32 bits hold a subscript, also because they hold the extent of its axis.
bool CExpr::fits_below(const Expr& subscript, const Expr& extent) {
  if (fits(subscript)) return true;
  if (!extent || !is_index(extent) || !grows(subscript)) return false;
  return fits(extent);
}

/// Whether an array of these extents may have more elements than 32 bits count.
bool CExpr::may_be_large(const Exprs& extents) {
  double all = 1;
  for (const Expr& e : extents) {
    if (!is_index(e)) return true;
    all *= std::max(0.0, range(e, false).high);
    if (all > 2147483647.0) break;
  }
  if (all <= 2147483647.0) return false;
  all = 1;
  for (const Expr& e : extents) all *= std::max(0.0, range(e, true).high);
  return all > 2147483647.0;
}

}  // namespace moonloop
