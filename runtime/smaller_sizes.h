#pragma once
#include "runtime/arguments.h"

namespace moonloop {

/// Values for which the interpreter executes `original` with at most `most` operations: the
/// integers of `given` that are more than 16, halved together until that holds. Where `k`, which
/// transforms made of it, or `original` assumes something else, the last values that are allowed.
/// What `given` does not say stays unsaid. Cost: counts the work at each of these sizes.
GivenValues smaller_sizes(const Kernel& k, const Kernel& original, const GivenValues& given,
                          double most);

}  // namespace moonloop
