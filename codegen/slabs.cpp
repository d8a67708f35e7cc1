#include "codegen/slabs.h"

#include "core/coalesce.h"
#include "core/diagnostic.h"
#include "core/domain.h"
#include "core/rows.h"

namespace moonloop {
namespace {

/// The iterations of `range` that are less than `n` from its first or its last one, where `known`
/// is `range` with all that is known of the parameters.
Set near_end(const Set& range, const Set& known, const std::string& iname, bool low, int n) {
  if (n == 0) return isl_set_empty(isl_set_get_space(range.get()));
  PwAff end = low ? isl_set_dim_min(known.copy(), 0) : isl_set_dim_max(known.copy(), 0);
  const Set point = isl_set_from_pw_aff(end.take());
  const std::string text = low ? fmt::format("{{ [e] -> [i] : e <= i < e + {} }}", n)
                               : fmt::format("{{ [e] -> [i] : e - {} < i <= e }}", n);
  Set near = isl_set_apply(point.copy(), isl_map_read_from_str(isl(), text.c_str()));
  near = isl_set_set_dim_name(near.take(), isl_dim_set, 0, iname.c_str());
  return coalesce(isl_set_intersect(near.take(), range.copy()));
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
  const Set first = near_end(range, known, iname, true, it->second.first);
  const Set rest = isl_set_subtract(range.copy(), first.copy());
  const Set last = isl_set_intersect(near_end(range, known, iname, false, it->second.second).take(),
                                     rest.copy());
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
