#include "codegen/plan/loop_sets.h"

#include <algorithm>

#include "core/sets/affine_constraints.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/named_sets.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

/// The most that a convex hull may cost, in isl's operations.
constexpr unsigned long kHullOperations = 200'000, kSimpleHullOperations = 50'000;

unsigned last_dim(const Set& s) {
  return static_cast<unsigned>(count(isl_set_dim(s.get(), isl_dim_set)) - 1);
}

/// Without what parameters alone decide, on which parts differ that have the same bounds.
Set without_conditions(Set s) {
  const auto dims = static_cast<unsigned>(count(isl_set_dim(s.get(), isl_dim_set)));
  s = isl_set_drop_constraints_not_involving_dims(s.take(), isl_dim_set, 0, dims);
  return coalesce(std::move(s));
}

/// The polyhedral hull of `s`; where that is too much work, which grows exponentially with the
/// dimensions, only that of the last dimension.
Set convex_around(const Set& s) {
  const auto around = [](const Set& points) {
    return Set(isl_set_from_basic_set(isl_set_polyhedral_hull(points.copy())));
  };
  try {
    const IslBudget budget(kHullOperations);
    return around(s);
  } catch (const IslQuota&) {
    const unsigned last = last_dim(s);
    Set of_last = isl_set_remove_divs(isl_set_eliminate(s.copy(), isl_dim_set, 0, last));
    return around(without_conditions(std::move(of_last)));
  }
}

/// The simple hull of `s`; where quotients in its parts make that too much work, of `s` without
/// these and without what parameters alone decide.
Set simple_around(const Set& s) {
  const auto around = [](const Set& points) {
    return Set(isl_set_from_basic_set(isl_set_simple_hull(points.copy())));
  };
  try {
    const IslBudget budget(kSimpleHullOperations);
    return around(s);
  } catch (const IslQuota&) { return around(without_conditions(isl_set_remove_divs(s.copy()))); }
}

}  // namespace

Set without_last(Set s) {
  const unsigned last = last_dim(s);
  return isl_set_project_out(s.take(), isl_dim_set, last, 1);
}
Set drop_on_last(Set s) {
  const unsigned last = last_dim(s);
  return isl_set_drop_constraints_involving_dims(s.take(), isl_dim_set, last, 1);
}

Set hull(Set s) {
  Set simple = simple_around(s);
  const int dims = static_cast<int>(isl_set_dim(s.get(), isl_dim_set));
  if (dims == 0 || isl_set_n_basic_set(s.get()) < 2) return simple;
  if (is_bounded(simple, static_cast<unsigned>(dims - 1))) return simple;
  return intersect(convex_around(isl_set_remove_divs(s.take())), simple);
}
Set keep_on_last(Set convex) {
  const BasicSet s = isl_set_simple_hull(convex.copy());
  if (count(isl_basic_set_dim(s.get(), isl_dim_div)) > 0) return convex;
  const unsigned last = last_dim(convex);
  return isl_set_drop_constraints_not_involving_dims(convex.take(), isl_dim_set, last, 1);
}

unsigned param_of(Set& s, const std::string& name) {
  int at = isl_set_find_dim_by_name(s.get(), isl_dim_param, name.c_str());
  if (at < 0) {
    s = isl_set_add_dims(s.take(), isl_dim_param, 1);
    at = count(isl_set_dim(s.get(), isl_dim_param)) - 1;
    s = isl_set_set_dim_name(s.take(), isl_dim_param, static_cast<unsigned>(at), name.c_str());
  }
  return static_cast<unsigned>(at);
}

Set between(Set s, const std::string& iname, int extent) {
  const unsigned at = param_of(s, iname);
  s = isl_set_lower_bound_si(s.take(), isl_dim_param, at, 0);
  return isl_set_upper_bound_si(s.take(), isl_dim_param, at, extent - 1);
}

bool shows(const Set& context, const Set& points) {
  const std::optional<AffineConstraints> known = AffineConstraints::of(context),
                                         wanted = AffineConstraints::of(points);
  return known && wanted &&
         std::all_of(wanted->all().begin(), wanted->all().end(),
                     [&](const AffineConstraint& r) { return !r.equality && known->show(r); });
}

bool has_unknown_quotients(const Set& s) {
  const Set known = isl_set_remove_unknown_divs(s.copy());
  return !yes(isl_set_plain_is_equal(known.get(), s.get()));
}

Set without_params(Set s, const std::set<std::string>& names) {
  for (const std::string& n : names) {
    const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, n.c_str());
    if (p < 0) continue;
    const auto at = static_cast<unsigned>(p);
    s = isl_set_drop_constraints_involving_dims(s.take(), isl_dim_param, at, 1);
    s = isl_set_project_out(s.take(), isl_dim_param, at, 1);
  }
  return s;
}

Set parts_that_meet(const Set& s, const Set& other) {
  Set out = isl_set_empty(isl_set_get_space(s.get()));
  for (const BasicSet& part : parts_of(s)) {
    const Set points = isl_set_from_basic_set(part.copy());
    if (!is_empty(intersect(points, other))) out = isl_set_union(out.take(), points.copy());
  }
  return out;
}

std::optional<BasicSet> plain_guard(const Set& points, const Set& context) {
  std::optional<BasicSet> out = syntactic_gist(points, context);
  if (!out) return out;
  const std::vector<Constraint> all = constraints_of(*out);
  const bool equality = std::any_of(all.begin(), all.end(), [](const Constraint& c) {
    return yes(isl_constraint_is_equality(c.get()));
  });
  return equality ? std::nullopt : std::move(out);
}

Aff iterator(const Set& range) {
  LocalSpace space = isl_local_space_from_space(isl_set_get_space(range.get()));
  return isl_aff_var_on_domain(space.take(), isl_dim_set, 0);
}

/// The span between the least and the greatest value in `known`, where no single bound shows one:
/// 0 <= 16*part + item < 128 bounds `part` only together with 0 <= item < 16.
static std::optional<ConstantSpan> constant_bounds(const Set& range, const Set& known) {
  const Aff iname = iterator(range);
  const Val least = isl_set_min_val(known.get(), iname.get());
  const Val most = isl_set_max_val(known.get(), iname.get());
  if (!yes(isl_val_is_int(least.get())) || !yes(isl_val_is_int(most.get()))) return std::nullopt;
  LocalSpace space = isl_local_space_from_space(isl_set_get_space(range.get()));
  return ConstantSpan{isl_aff_val_on_domain(space.take(), least.copy()),
                      to_int(most) - to_int(least) + 1};
}

/// The span between constant bounds of the iname, if no other bound is below and a point of the
/// context is at the upper one.
static std::optional<ConstantSpan> plain_span(const Set& range, const Set& context) {
  const Set unnamed = isl_set_set_dim_name(range.copy(), isl_dim_set, 0, nullptr);
  const std::string iname = "[0]";  // of a dimension without a name
  const std::optional<AffineConstraints> own = AffineConstraints::of(unnamed),
                                         around = AffineConstraints::of(context);
  if (!own || !around) return {};
  std::optional<std::int64_t> lower, upper;
  std::vector<const AffineConstraint*> rows;
  for (const AffineConstraint& r : around->all()) rows.push_back(&r);
  for (const AffineConstraint& r : own->all()) {
    rows.push_back(&r);
    const std::int64_t factor = r.of(iname);
    const bool alone = r.coefficients.size() == 1;
    if (factor == 0) continue;
    if (r.equality || (factor > 0 && (lower || !alone || factor != 1))) return {};
    if (factor > 0) lower = -r.constant;
    if (factor == -1 && alone) upper = r.constant;
  }
  if (!lower || !upper || *upper < *lower) return {};
  const AffineConstraint last{{{iname, 1}}, -*upper, true};
  rows.push_back(&last);
  if (!has_near_point(rows)) return {};
  LocalSpace space = isl_local_space_from_space(isl_set_get_space(range.get()));
  return ConstantSpan{isl_aff_val_on_domain(space.take(), isl_val_int_from_si(isl(), *lower)),
                      *upper - *lower + 1};
}

std::optional<ConstantSpan> constant_span(const Set& range, const Set& context) {
  if (std::optional<ConstantSpan> plain = plain_span(range, context)) return plain;
  std::optional<ConstantSpan> best;
  Set known = isl_set_intersect_params(range.copy(), context.copy());
  if (count(isl_set_n_basic_set(range.get())) != 1) return best;
  isl_basic_set_list* list = isl_set_get_basic_set_list(range.get());
  BasicSet only = isl_basic_set_list_get_basic_set(list, 0);
  isl_basic_set_list_free(list);
  only = isl_basic_set_remove_unknown_divs(only.take());  // leaves fewer bounds, all of them true
  isl_constraint_list* all = isl_basic_set_get_constraint_list(only.get());
  const int n = count(isl_constraint_list_n_constraint(all));
  for (int i = 0; i < n; ++i) {
    Constraint c = isl_constraint_list_get_constraint(all, i);
    if (!yes(isl_constraint_is_lower_bound(c.get(), isl_dim_set, 0))) continue;
    Val factor = isl_constraint_get_coefficient_val(c.get(), isl_dim_set, 0);
    if (!yes(isl_val_is_one(factor.get())) && !yes(isl_val_is_negone(factor.get()))) continue;
    Aff lower = isl_constraint_get_bound(c.get(), isl_dim_set, 0);
    const auto divs = static_cast<unsigned>(count(isl_aff_dim(lower.get(), isl_dim_div)));
    if (divs > 0 && yes(isl_aff_involves_dims(lower.get(), isl_dim_div, 0, divs))) continue;
    Aff distance = isl_aff_sub(iterator(range).take(), lower.copy());
    Val longest = isl_set_max_val(known.get(), distance.get());
    if (!yes(isl_val_is_int(longest.get()))) continue;
    const std::int64_t length = to_int(longest) + 1;
    const bool fixed = yes(isl_aff_is_cst(lower.get()));
    if (!best || length < best->length || (length == best->length && fixed))
      best = ConstantSpan{std::move(lower), length};
  }
  isl_constraint_list_free(all);
  return best ? best : constant_bounds(range, known);
}

Set all_or_none(const Set& range, const Set& context) {
  const std::optional<ConstantSpan> span = constant_span(range, context);
  if (!span || !yes(isl_aff_is_cst(span->lower.get()))) return range;
  Aff last = isl_aff_add_constant_si(span->lower.copy(), static_cast<int>(span->length - 1));
  BasicSet box =
      isl_basic_set_intersect(isl_aff_ge_basic_set(iterator(range).take(), span->lower.copy()),
                              isl_aff_ge_basic_set(last.take(), iterator(range).take()));
  Set all =
      isl_set_intersect_params(isl_set_from_basic_set(box.take()), isl_set_params(range.copy()));
  const Set here = isl_set_intersect_params(range.copy(), context.copy());
  const Set there = isl_set_intersect_params(all.copy(), context.copy());
  return yes(isl_set_is_subset(there.get(), here.get())) ? all : range;
}

Set common_context(const Set& range, const Set& context, const ConstantSpan& span) {
  if (span.length < 2 || !yes(isl_aff_is_cst(span.lower.get()))) return {};
  const Val lower = isl_aff_get_constant_val(span.lower.get());
  const Val upper = isl_val_add(lower.copy(), isl_val_int_from_si(isl(), span.length - 1));
  if (!yes(isl_val_is_int(lower.get()))) return {};
  Set all = isl_set_universe(isl_set_get_space(range.get()));
  all = isl_set_lower_bound_val(all.take(), isl_dim_set, 0, lower.copy());
  all = isl_set_upper_bound_val(all.take(), isl_dim_set, 0, upper.copy());
  const Set within = intersect(context, all_to_params(all)), runs = all_to_params(range);
  if (!shows(within, runs) && !yes(isl_set_is_subset(within.get(), runs.get()))) return {};
  return intersect(within, runs);
}

}  // namespace moonloop
