#pragma once
#include <utility>

#include "core/sets/isl.h"

/// Sets and relations of which more may have been taken in than there is, because data decides.
namespace moonloop {

/// A set within another one, `all`, or that one itself where `exact`.
struct ApproximateSet {
  Set all;
  bool exact = true;  // false: there may be fewer
};

/// The same of a relation.
struct ApproximateMap {
  Map all;
  bool exact = true;

  /// Leaves those pairs whose first, or second, is in the set; exact where both are.
  void intersect_domain(ApproximateSet s) {
    all = isl_map_intersect_domain(all.take(), s.all.take());
    exact = exact && s.exact;
  }
  void intersect_range(ApproximateSet s) {
    all = isl_map_intersect_range(all.take(), s.all.take());
    exact = exact && s.exact;
  }
};

}  // namespace moonloop
