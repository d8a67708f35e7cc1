#pragma once
#include <vector>

#include "tests/differential/random_step.h"

namespace moonloop::differential {

/// Steps that set the layout of the axes of an argument or of a temporary in memory: strides,
/// nesting levels with padding, and, for an axis of constant length, which is split off where there
/// is none, vectors and arrays of their own. A loop may be split to go along such an axis.
std::vector<Call> axes_steps(Random& random, const Kernel& k);

}  // namespace moonloop::differential
