#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Subscripts and conditions are read as sums of whole numbers, which sums and products of unsigned
/// ones are not: `n - 3` of an uint32 is 4294967293 where `n` is 0. Those that scalar arguments
/// make get their own type as a cast, `cast(uint32, n - 3)`, which means the same and is not such a
/// sum. Cost: linear; none where no argument is an unsigned scalar.
void make_wraps_explicit(Kernel& k);

}  // namespace moonloop
