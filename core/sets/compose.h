#pragma once
#include "core/sets/isl.h"

namespace moonloop {

/// { x -> z : x -> y in `first` and y -> z in `second` }, as isl_map_apply_range().
///
/// isl counts its steps on a system of constraints, whatever the size of that system. A composition
/// has a part for each two parts, with the integers that exist in both; where these are many, each
/// part takes as long as the cube of their number. That is charged to the budget before it is
/// begun, which ends with IslQuota where it holds less. Cost: of the composition, and a look at
/// each part.
Map compose(Map first, Map second);

}  // namespace moonloop
