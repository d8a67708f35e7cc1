#include "codegen/plan/loop_sets.h"

#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"

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

}  // namespace moonloop
