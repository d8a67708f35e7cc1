#include "codegen/plan/slabs.h"

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

/// One end of a loop's iterations: of `range` where `known` is `range` with all that is known about
/// the parameters.
struct End {
  End(const Set& range_, const Set& known, const std::string& iname_, bool low_, int n_)
      : range(range_), iname(iname_), low(low_), n(n_) {
    at = low ? isl_set_dim_min(known.copy(), 0) : isl_set_dim_max(known.copy(), 0);
    point = isl_set_from_pw_aff(at.copy());
  }
  /// The iterations that are less than `n` from the end.
  Set near() const {
    return related(low ? "{{ [e] -> [i] : e <= i < e + {} }}"
                       : "{{ [e] -> [i] : e - {} < i <= e }}");
  }
  /// The others.
  Set far() const {
    return related(low ? "{{ [e] -> [i] : e + {} <= i }}" : "{{ [e] -> [i] : i <= e - {} }}");
  }
  /// The parameters for which it has one expression.
  std::vector<Set> pieces() const {
    std::vector<Set> out;
    const auto each = [](isl_set* when, isl_aff* value, void* all) -> isl_stat {
      isl_aff_free(value);
      static_cast<std::vector<Set>*>(all)->emplace_back(when);
      return isl_stat_ok;
    };
    check(isl_pw_aff_foreach_piece(at.get(), each, &out));
    return out;
  }

 private:
  Set related(const char* how) const {
    const std::string text = fmt::format(fmt::runtime(how), n);
    Set out = isl_set_apply(point.copy(), isl_map_read_from_str(isl(), text.c_str()));
    out = isl_set_set_dim_name(out.take(), isl_dim_set, 0, iname.c_str());
    return coalesce(isl_set_intersect(out.take(), range.copy()));
  }

  const Set range;
  const std::string iname;
  const bool low;
  const int n;
  PwAff at;
  Set point;
};

/// A set as a convex one; nothing where it is not one.
std::optional<Set> convex(const Set& slab, const Set& range) {
  if (count(isl_set_n_basic_set(slab.get())) == 1) return slab;
  const Set hull = isl_set_intersect(
      isl_set_from_basic_set(isl_set_unshifted_simple_hull(slab.copy())), range.copy());
  if (count(isl_set_n_basic_set(hull.get())) != 1 || !yes(isl_set_is_equal(hull.get(), slab.get())))
    return std::nullopt;
  return hull;
}

/// A slab of `range` as convex sets, only one of which has iterations for any parameters: those
/// that do not meet in `apart`, sets of parameters. Nothing where there are none.
std::vector<Set> cases_of(const Set& slab, const Set& range, const std::vector<Set>& apart) {
  if (auto one = convex(slab, range)) return {*one};
  std::vector<Set> out;
  for (const Set& when : apart) {
    const Set part = coalesce(isl_set_intersect_params(slab.copy(), when.copy()));
    if (is_empty(part)) continue;
    const auto one = convex(part, range);
    if (!one) return {};
    out.push_back(*one);
  }
  return out;
}

/// The parameters for which both ends have one expression each, which do not meet.
std::vector<Set> apart(const std::vector<Set>& a, const std::vector<Set>& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  std::vector<Set> out;
  for (const Set& x : a)
    for (const Set& y : b)
      if (Set both = isl_set_intersect(x.copy(), y.copy()); !is_empty(both)) out.push_back(both);
  return out;
}

}  // namespace

std::vector<Set> slabs_of(const Kernel& k, const std::string& iname, const Set& range,
                          const Set& context) {
  const auto it = k.slabs.find(iname);
  if (it == k.slabs.end() || (it->second.first == 0 && it->second.second == 0)) return {range};
  const Set known = isl_set_intersect_params(range.copy(), context.copy());
  const Set none = isl_set_empty(isl_set_get_space(range.get()));
  Set first = none, last = none, middle = range;
  std::vector<Set> cases;
  if (const int n = it->second.first; n > 0) {
    const End low(range, known, iname, true, n);
    first = low.near();
    middle = low.far();
    cases = low.pieces();
  }
  if (const int n = it->second.second; n > 0) {
    const End high(range, known, iname, false, n);
    last = isl_set_intersect(high.near().take(), middle.copy());
    middle = isl_set_intersect(high.far().take(), middle.take());
    cases = apart(cases, high.pieces());
  }
  std::vector<Set> out;
  for (Set part : {first, middle, last}) {
    part = gist_params(part, context);
    part = coalesce(part.take());
    if (is_empty(Set(isl_set_intersect_params(part.copy(), context.copy())))) continue;
    const std::vector<Set> convex_parts = cases_of(part, range, cases);
    if (convex_parts.empty())
      fail("unsupported", k.at,
           "the iterations of `{}` that slabs put apart are not next to each other", iname);
    out.insert(out.end(), convex_parts.begin(), convex_parts.end());
  }
  return out;
}

}  // namespace moonloop
