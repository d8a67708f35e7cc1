#pragma once
#include "core/sets/isl.h"

namespace moonloop {

/// As isl_set_coalesce() and isl_map_coalesce(), for sets whose equalities isl may not know yet.
///
/// From two inequalities that leave only one value, such as 2x - i - 4 <= 4e <= 2x - i - 3 with i
/// odd and e = floor((2x - i - 1)/4), isl 0.25 makes the equality 4e = 2x - i - 3 while it looks
/// for parts to join, next to the quotient's own definition. The set is right, until its next
/// simplification takes one for the other and loses it. Cost: where there are several parts, a
/// linear program for each, which joining them needs as well.
Set coalesce(Set s);
Map coalesce(Map m);

}  // namespace moonloop
