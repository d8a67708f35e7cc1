#pragma once
#include <cstdint>
#include <optional>

#include "core/expr/evaluate.h"
#include "core/sets/isl.h"

namespace moonloop {

/// The number of integer points of a bounded set whose parameters all have values. Nothing when a
/// parameter has none, the set is unbounded, the number does not fit in 64 bits, or the enumeration
/// would take more than `limit` steps.
///
/// Dimensions that no constraint ties together are counted separately and multiplied; in what
/// remains, the innermost dimension is counted in closed form and the others are enumerated. So
/// boxes cost nothing, an n-deep triangle the points of its n-1 outer dimensions.
std::optional<std::int64_t> count_points(const Set& set, const Integers& values,
                                         std::int64_t limit = 400'000'000);

}  // namespace moonloop
