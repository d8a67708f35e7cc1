#pragma once
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// The text of a kernel with reductions of every operation and type: over rows, triangles and
/// beginnings, of one or two values, segmented, within conditions, of two inames, and as
/// accumulations that are written out.
std::string random_reductions(Random& random, const std::string& name);

}  // namespace moonloop::differential
