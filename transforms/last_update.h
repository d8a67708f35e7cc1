#pragma once
#include <string>

#include "transforms/buffer_array.h"

namespace moonloop {

/// `k`, which buffer_array made of `before` with the options `b` (`updates`, in private memory),
/// with a buffer of one element: that of the last update. See privatize_updates.
///
/// The buffer of `k` holds what the updates of each element make until the end, when the elements
/// that changed are added. The updates commute with each other, and it is proved that nothing else
/// meets them in between; so each element may be added at any time, in several parts.
///
/// Refuses  what check_legal does: loops inside of which the buffer lives that are parallel
Kernel holding_last(const Kernel& before, Kernel k, const std::string& array,
                    const BufferOptions& b);

}  // namespace moonloop
