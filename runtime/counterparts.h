#pragma once
#include <functional>
#include <vector>

#include "core/model/original_layout.h"
#include "runtime/buffer.h"

namespace moonloop {

/// Calls `visit` with the places of each element of `part`, and of its counterpart in `whole`;
/// padding has none.
void for_each_counterpart(const Buffer& part, const OriginalLayout& c, const Buffer& whole,
                          const std::function<void(std::byte* here, std::byte* there)>& visit);

/// Fills `whole`, an array of the kernel that the transforms began with, from those among `arrays`
/// that are its counterparts in `k`: itself, split or in parts. Null, or an array of other shape or
/// type that should match it. Elements without a counterpart stay. Linear in the elements.
const Buffer* put_together(Buffer& whole, const Kernel& k, const std::vector<Buffer>& arrays);

}  // namespace moonloop
