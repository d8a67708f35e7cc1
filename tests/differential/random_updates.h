#pragma once
#include "tests/differential/random_groups.h"

namespace moonloop::differential {

/// A random kernel of updates that commute, through subscripts that are computed from data or not:
/// of one array or two, in one loop, in rows, or in loops whose lengths are data; next to
/// statements that begin the array, read it after the updates or, in a few, between them, or update
/// it in other loops or by another operation. The steps cut the loops, spread them over groups,
/// work-items and threads, and give the updates copies, before or after that; each may be refused.
Opening random_updates(Random& random, const std::string& name);

}  // namespace moonloop::differential
