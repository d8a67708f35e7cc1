#include "core/sets/affine_extreme.h"

namespace moonloop {

std::optional<Aff> affine_extreme(const Set& points, bool last) {
  if (!yes(last ? isl_set_dim_has_any_upper_bound(points.get(), isl_dim_set, 0)
                : isl_set_dim_has_any_lower_bound(points.get(), isl_dim_set, 0)))
    return std::nullopt;
  try {
    PwAff p = last ? isl_set_dim_max(points.copy(), 0) : isl_set_dim_min(points.copy(), 0);
    const Set where = isl_pw_aff_domain(p.copy());
    p = isl_pw_aff_gist(isl_pw_aff_coalesce(p.take()), where.copy());
    if (count(isl_pw_aff_n_piece(p.get())) != 1) return std::nullopt;
    return Aff(isl_pw_aff_as_aff(p.take()));
  } catch (const IslError&) {  // unbounded for some parameters
    return std::nullopt;
  }
}

}  // namespace moonloop
