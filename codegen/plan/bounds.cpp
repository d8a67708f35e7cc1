#include "codegen/plan/bounds.h"

#include <algorithm>
#include <set>

#include "core/model/domain.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

bool is_quotient(const Expr& e) {
  const auto* b = e.as<Binary>();
  const auto* c = e.as<Call>();
  return (b && b->op == BinaryOp::FloorDiv) || (c && c->name == kTruncDiv);
}

/// Whether `x < e + 1` reads better than `x <= e`.
bool better_exclusive(const Expr& e) {
  if (as_int(e) || is_quotient(e)) return true;
  if (const auto* s = e.as<Nary>(); s && s->op == NaryOp::Add)
    return as_int(s->terms.back()).value_or(0) < 0;
  const auto* c = e.as<Call>();
  return c && c->name == "min" && std::any_of(c->args.begin(), c->args.end(), better_exclusive);
}

Expr successor(const Expr& e) {
  if (const auto* c = e.as<Call>(); c && c->name == "min") {
    Exprs args;
    for (const Expr& a : c->args) args.push_back(successor(a));
    return call("min", std::move(args));
  }
  if (const auto* b = e.as<Binary>(); b && b->op == BinaryOp::FloorDiv)
    return Expr(Binary{b->op, index_add({b->left, b->right}), b->right});
  // An exact quotient is as good a truncated one with the divisor added to the dividend.
  if (const auto* c = e.as<Call>(); c && c->name == kTruncDiv)
    return call(kTruncDiv, {index_add({c->args[0], c->args[1]}), c->args[1]});
  return index_add({e, lit(1)});
}

/// Below an exclusive bound of a loop that starts at zero or later, truncating and floor division
/// are the same: where they differ, both give at most zero and the loop does not run.
Expr truncate(const Expr& e) {
  if (const auto* c = e.as<Call>(); c && c->name == "min") {
    Exprs args;
    for (const Expr& a : c->args) args.push_back(truncate(a));
    return call("min", std::move(args));
  }
  if (const auto* b = e.as<Binary>(); b && b->op == BinaryOp::FloorDiv)
    return call(kTruncDiv, {b->left, b->right});
  return e;
}

struct Bound {
  std::int64_t factor;  // of the iname
  Expr rest;            // factor*iname + rest >= 0
};

/// The bounds of a basic set's one dimension, and its other constraints as `condition`; nothing
/// where a bound is an equality.
std::optional<std::vector<Bound>> bounds_of(const BasicSet& s, Set& condition) {
  if (count(isl_basic_set_dim(s.get(), isl_dim_div)) > 0) return std::nullopt;
  const int n_params = count(isl_basic_set_dim(s.get(), isl_dim_param));
  std::vector<std::string> params;
  for (int p = 0; p < n_params; ++p)
    params.emplace_back(
        isl_basic_set_get_dim_name(s.get(), isl_dim_param, static_cast<unsigned>(p)));
  std::vector<Bound> out;
  for (const Constraint& c : constraints_of(s)) {
    const auto factor = [&](isl_dim_type t, int at) {
      return to_int(Val(isl_constraint_get_coefficient_val(c.get(), t, at)));
    };
    const std::int64_t own = factor(isl_dim_set, 0);
    if (own == 0) {
      condition = isl_set_add_constraint(condition.take(), c.copy());
      continue;
    }
    if (yes(isl_constraint_is_equality(c.get()))) return std::nullopt;
    Exprs terms;
    for (int p = 0; p < n_params; ++p)
      if (const std::int64_t f = factor(isl_dim_param, p); f != 0)
        terms.push_back(index_mul(lit(f), var(params[static_cast<std::size_t>(p)])));
    terms.push_back(lit(to_int(Val(isl_constraint_get_constant_val(c.get())))));
    out.push_back({own, index_add(terms)});
  }
  return out;
}

/// The simpler operands first, independent of the order of their constraints.
Expr extremum(const char* name, Exprs all) {
  const auto rank = [](const Expr& e) {
    std::set<std::string> names;
    collect_vars(e, names);
    return names.size();
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Expr& a, const Expr& b) { return rank(a) < rank(b); });
  return all.size() == 1 ? all[0] : call(name, std::move(all));
}

}  // namespace

void polish_bounds(Loop& loop) {
  if (loop.inclusive && better_exclusive(loop.upper)) {
    loop.upper = successor(loop.upper);
    loop.inclusive = false;
  }
  if (const auto from = as_int(loop.lower); from && *from >= 0 && !loop.inclusive)
    loop.upper = truncate(loop.upper);
}

std::optional<PlainLoop> plain_loop(const Set& range, const Set& context,
                                    const std::string& iname) {
  std::optional<BasicSet> only = syntactic_gist(range, context);
  if (!only) {
    const std::vector<BasicSet> parts = parts_of(gist_params(range, context));
    if (parts.size() != 1) return std::nullopt;
    only = isl_basic_set_remove_redundancies(parts[0].copy());
  }
  Set condition = isl_set_universe(isl_basic_set_get_space(only->get()));
  const auto bounds = bounds_of(*only, condition);
  if (!bounds) return std::nullopt;
  Exprs lower, upper;
  bool quotient = false;
  for (const Bound& b : *bounds) {
    if (b.factor == 1) {
      lower.push_back(index_mul(lit(-1), b.rest));
    } else if (b.factor > 1) {
      return std::nullopt;
    } else if (b.factor == -1) {
      upper.push_back(b.rest);
    } else {
      upper.push_back(Expr(Binary{BinaryOp::FloorDiv, b.rest, lit(-b.factor)}));
      quotient = true;
    }
  }
  if (lower.empty() || upper.empty()) return std::nullopt;
  PlainLoop found;
  if (!yes(isl_set_plain_is_universe(condition.get()))) found.condition = from_set(condition);
  Loop& out = found.loop;
  out.iname = iname;
  out.lower = extremum("max", std::move(lower));
  out.upper = extremum("min", std::move(upper));
  out.inclusive = true;
  if (quotient && as_int(out.lower).value_or(-1) < 0) return std::nullopt;  // isl may know the sign
  polish_bounds(out);
  return found;
}

}  // namespace moonloop
