#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "core/sets/isl.h"

namespace moonloop::differential {

/// Calls `each` once for every point of a bounded set whose parameters are `params`, in the order
/// of the set's parameters, with the values of its dimensions. Bounds are searched dimension by
/// dimension, from the text of the constraints; isl is queried only for bounds, where they are
/// skewed. Throws std::runtime_error where a dimension has no bounds.
void for_each_point(const Set& set, const std::vector<std::int64_t>& params,
                    const std::function<void(const std::vector<std::int64_t>&)>& each);

}  // namespace moonloop::differential
