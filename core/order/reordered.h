#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Whether a step proves that it keeps the order. Whoever asks for a step without its proof must
/// prove the result later, or rebase it and add a claim, as the option `unsafe` does.
enum class Proof { Made, LeftOut };

/// The end of each transform that only reorders: `after` with the reference of `before`.
Kernel reordered(const Kernel& before, Kernel after, Proof proof = Proof::Made);

}  // namespace moonloop
