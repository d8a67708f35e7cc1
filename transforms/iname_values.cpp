#include "transforms/iname_values.h"

#include "core/model/domain.h"
#include "core/sets/bounded.h"

namespace moonloop {

InameValues values_of(const Kernel& k, const std::string& iname) {
  const Set s = domain_of(k, {iname});
  const bool bounded = is_bounded(s, 0);
  for (const std::string& p : param_names(s))
    if (!bounded || k.find_temporary(p))
      refuse("no-extent", k.at, "the number of values of iname `{}` is computed in the kernel",
             iname);
  const auto end = [&](bool least) {
    PwAff a = least ? isl_set_dim_min(s.copy(), 0) : isl_set_dim_max(s.copy(), 0);
    return from_affine(isl_pw_aff_coalesce(a.take()));
  };
  const Expr first = end(true);
  return {first, index_add({end(false), index_mul(lit(-1), first), lit(1)})};
}

}  // namespace moonloop
