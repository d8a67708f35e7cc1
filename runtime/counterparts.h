#pragma once
#include <vector>

#include "runtime/buffer.h"

namespace moonloop {

/// Fills `whole`, an array of the kernel that the transforms began with, from those among `arrays`
/// that are its counterparts in `k`: itself, split or in parts. Null, or an array of other shape or
/// type that ought to be it. Elements that none has stay. Linear in the elements.
const Buffer* put_together(Buffer& whole, const Kernel& k, const std::vector<Buffer>& arrays);

}  // namespace moonloop
