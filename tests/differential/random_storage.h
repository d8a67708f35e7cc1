#pragma once
#include "tests/differential/random_step.h"

namespace moonloop::differential {

/// A step about the storage of temporaries, about barriers or about a parameter's value: whether it
/// is legal is open.
Call storage_step(Random& random, const Kernel& k, Flavour flavour);

}  // namespace moonloop::differential
