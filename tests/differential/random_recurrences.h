#pragma once
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// The text of a random kernel in which sums run over results of earlier iterations: substitutions
/// with one or several right sides, factorizations by rows, of symmetric matrices or not, filters
/// with a window; in place or not, with bounds that are shifted, conditions, and other statements
/// beside. Values stay small.
std::string random_recurrences(Random& random, const std::string& name);

}  // namespace moonloop::differential
