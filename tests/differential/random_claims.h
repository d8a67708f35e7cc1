#pragma once
#include "tests/differential/random_groups.h"

namespace moonloop::differential {

/// A random kernel that needs claims, which hold: counters that assign places in any order, updates
/// that commute by arithmetic, scatters through `perm`, a permutation, and through squares; and
/// assumptions on `n`. The steps claim, and tag.
Opening random_claims(Random& random, const std::string& name);

}  // namespace moonloop::differential
