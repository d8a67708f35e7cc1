#pragma once
#include "core/sets/isl.h"

/// Whether a dimension has ends.
namespace moonloop {

/// Whether `dim` has both in all parts of `s`, for any one point of the parameters and of the other
/// dimensions. isl's own answer takes the equations of a stride for ends: of { j : 0 <= j and
/// j mod 2 = 0 } it says that j is bounded.
inline bool is_bounded(const Set& s, unsigned dim) {
  const Set plain = isl_set_remove_divs(s.copy());
  return yes(isl_set_dim_is_bounded(plain.get(), isl_dim_set, dim));
}

/// The same for all dimensions.
inline bool is_bounded(const Set& s) {
  const Set plain = isl_set_remove_divs(s.copy());
  for (int d = count(isl_set_dim(plain.get(), isl_dim_set)); d-- > 0;)
    if (!yes(isl_set_dim_is_bounded(plain.get(), isl_dim_set, static_cast<unsigned>(d))))
      return false;
  return true;
}

/// The same for only the lower or the upper end.
inline bool has_lower_bound(const Set& s, unsigned dim) {
  const Set plain = isl_set_remove_divs(s.copy());
  return yes(isl_set_dim_has_lower_bound(plain.get(), isl_dim_set, dim));
}
inline bool has_upper_bound(const Set& s, unsigned dim) {
  const Set plain = isl_set_remove_divs(s.copy());
  return yes(isl_set_dim_has_upper_bound(plain.get(), isl_dim_set, dim));
}

}  // namespace moonloop
