#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Leaves gaps in an array's memory so that the stride of one axis is a multiple of `align_bytes`.
/// Axes with larger strides are spread by the same factor. A stride of 33 words in local memory,
/// for example, keeps the work-items that walk down a column on different banks.
///
///     t: float32[32, 32], axis 0, 132 bytes     strides (32, 1) become (33, 1)
///
/// For an argument this changes what the caller has to pass.
///
/// Refuses  unknown-array  no array has the name
///          bad-axis       it has no such axis
///          bad-padding    `align_bytes` is not a multiple of the size of an element
///          bad-strides    a temporary whose shape is not constant
Kernel add_padding(const Kernel& k, const std::string& variable, std::int64_t axis,
                   std::int64_t align_bytes);

}  // namespace moonloop
