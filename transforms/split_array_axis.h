#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Replaces one axis of temporaries by two: subscript i becomes i // count and i % count.
///
///     t[16*p + q]     with axis 0 split by 16 is     t[p, q]
///
/// `order` C puts the axis of the quotients first, F that of the remainders.
///
/// Refuses  unknown-array  no array has the name
///          bad-axis       it has no such axis
///          bad-count      `count` is below 1
///          flat-subscript it is read or written with a flat subscript, `t[[i]]`
///          unsupported    an argument: its caller would have to pass another shape; a temporary
///                         with initial values
/// Cost     one walk over the accesses; isl for each subscript
Kernel split_array_axis(const Kernel& k, const std::vector<std::string>& names, std::int64_t axis,
                        std::int64_t count, Order order);

}  // namespace moonloop
