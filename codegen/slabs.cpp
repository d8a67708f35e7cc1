#include "codegen/slabs.h"

#include "core/coalesce.h"
#include "core/diagnostic.h"
#include "core/domain.h"
#include "core/rows.h"

namespace moonloop {
namespace {

Set translate(const Set& s, int by) {
  Space space = isl_set_get_space(s.get());
  MultiAff shift = isl_multi_aff_identity_on_domain_space(space.take());
  Aff x = isl_aff_add_constant_si(isl_multi_aff_get_at(shift.get(), 0), by);
  shift = isl_multi_aff_set_at(shift.take(), 0, x.take());
  return isl_set_apply(s.copy(), isl_map_from_multi_aff(shift.take()));
}

/// A slab as convex sets of which one alone has iterations, whatever the parameters are. Nothing
/// where there are none.
std::vector<Set> cases_of(const Set& slab) {
  if (count(isl_set_n_basic_set(slab.get())) == 1) return {slab};
  const Set apart = isl_set_make_disjoint(slab.copy());
  std::vector<Set> out;
  for (const BasicSet& part : parts_of(apart)) {
    const Set one = isl_set_from_basic_set(part.copy());
    const Set when = isl_set_params(one.copy());
    for (const Set& other : out)
      if (!yes(isl_set_is_disjoint(when.get(), Set(isl_set_params(other.copy())).get()))) return {};
    out.push_back(one);
  }
  return out;
}

}  // namespace

std::vector<Set> slabs_of(const Kernel& k, const std::string& iname, const Set& range,
                          const Set& context) {
  const auto it = k.slabs.find(iname);
  if (it == k.slabs.end() || (it->second.first == 0 && it->second.second == 0)) return {range};
  const Set known = isl_set_intersect_params(range.copy(), context.copy());
  const auto near_end = [&](bool low, int n) -> Set {
    if (n == 0) return isl_set_empty(isl_set_get_space(known.get()));
    PwAff end = low ? isl_set_dim_min(known.copy(), 0) : isl_set_dim_max(known.copy(), 0);
    Set point = isl_set_from_pw_aff(end.take());
    point = isl_set_set_dim_name(point.take(), isl_dim_set, 0, iname.c_str());
    Set out = isl_set_empty(isl_set_get_space(known.get()));
    for (int i = 0; i < n; ++i) {
      Set shifted = translate(point, low ? i : -i);
      out = isl_set_union(out.take(), isl_set_intersect(shifted.take(), range.copy()));
    }
    return coalesce(out.take());
  };
  const Set first = near_end(true, it->second.first);
  const Set rest = isl_set_subtract(range.copy(), first.copy());
  const Set last = isl_set_intersect(near_end(false, it->second.second).take(), rest.copy());
  const Set middle = coalesce(isl_set_subtract(rest.copy(), last.copy()));
  std::vector<Set> out;
  for (Set part : {first, middle, last}) {
    part = isl_set_gist_params(part.take(), context.copy());
    part = coalesce(part.take());
    if (is_empty(Set(isl_set_intersect_params(part.copy(), context.copy())))) continue;
    const std::vector<Set> cases = cases_of(part);
    if (cases.empty())
      fail("unsupported", k.at,
           "the iterations of `{}` that slabs put apart are not next to each other", iname);
    out.insert(out.end(), cases.begin(), cases.end());
  }
  return out;
}

}  // namespace moonloop
