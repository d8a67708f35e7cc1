#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/sets/named_sets.h"
#include "cost/work.h"

/// Numbers of instances at given parameters.
namespace moonloop::cost {
namespace {

Set with_values(Set s, const Integers& params) {
  for (const std::string& p : param_names(s)) {
    const auto v = params.find(p);
    if (v == params.end())
      fail("missing-parameter", {}, "the cost needs a value of `{}`; give `-p {}=VALUE`", p, p);
    const int at = isl_set_find_dim_by_name(s.get(), isl_dim_param, p.c_str());
    s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(at),
                        isl_val_int_from_si(isl(), v->second));
  }
  return s;
}

/// The number of points of the smallest box around the set.
double box_of(const Amount& a, const Integers& params) {
  const Set s = with_values(a.points, params);
  if (yes(isl_set_is_empty(s.get()))) return 0;
  double out = 1;
  for (int d = 0; d < count(isl_set_dim(s.get(), isl_dim_set)); ++d) {
    const Val low = isl_set_dim_min_val(s.copy(), d), high = isl_set_dim_max_val(s.copy(), d);
    if (!yes(isl_val_is_int(low.get())) || !yes(isl_val_is_int(high.get())))
      fail("unbounded-count", {}, "{} are infinitely many", a.what);
    out *= static_cast<double>(to_int(high) - to_int(low) + 1);
  }
  return out;
}

}  // namespace

double Amount::at(const Integers& params, const AssumedTrips& trips, Remarks& remarks) const {
  double out = 1;
  for (const std::string& i : computed) {
    const auto t = trips.find(i);
    if (t == trips.end())
      throw Error(Diagnostic{
          "data-dependent-count",
          fmt::format("how often `{}` runs depends on `{}`, which the kernel computes", instruction,
                      because),
          {},
          {},
          fmt::format("say how many iterations `{0}` has: `trips = {{{0} = 16}}`, `--trips {0}=16`",
                      i)});
    remarks.insert(fmt::format("`{}` has {:g} iterations, as assumed", i, t->second));
    out *= t->second;
  }
  if (!exact) remarks.insert(fmt::format("{}: conditions on data are taken to hold", what));
  if (count) {
    for (const std::string& p : count->parameters())
      if (!params.count(p))
        fail("missing-parameter", {}, "the cost needs a value of `{}`; give `-p {}=VALUE`", p, p);
    const Val v = count->eval(params);
    return out * isl_val_get_d(v.get());
  }
  remarks.insert(fmt::format("{}: too hard to count, their box counts", what));
  return out * box_of(*this, params);
}

}  // namespace moonloop::cost
