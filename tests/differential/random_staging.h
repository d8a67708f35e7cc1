#pragma once
#include <optional>

#include "tests/differential/random_step.h"

namespace moonloop::differential {

/// A step that stages reads of some instruction, itself or through rules: with loops of that
/// instruction swept, so that many are legal; rules of rules; tags for the loops of an earlier one.
/// Nothing where the kernel has nothing to stage.
std::optional<Call> staging_step(Random& random, const Kernel& k, Flavour flavour);

}  // namespace moonloop::differential
