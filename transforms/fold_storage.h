#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Elements of temporaries that are `count` apart along an axis share memory: subscript i becomes
/// i % count.
///
///     t[k] = a[k]             with axis 0 folded to 2 is     t[k % 2] = a[k]
///     b[k] = t[k] + t[k - 1]                                 b[k] = t[k % 2] + t[(k - 1) % 2]
///
/// Refuses  unknown-temporary; bad-axis; bad-count; unsupported: initial values, strides, shared
///          memory, flat subscripts; not-affine: a subscript along the axis
///          shares-memory  an element is written while one with which it would share memory is
///                         still needed; two instances
/// Cost     isl for each write, read and other write
Kernel fold_storage(const Kernel& k, const std::vector<std::string>& names, std::int64_t axis,
                    std::int64_t count);

}  // namespace moonloop
