#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// `k` with one array for each value of the subscript along `axis` in the place of the array
/// `name`: `name_s0`, `name_s1`, ..., which `parts` gets. A statement that writes at a subscript
/// that varies is repeated for each part, under a condition. The result is its own reference.
///
/// Refuses `bad-axis-tag` an axis whose extent is not constant, or beyond kMostParts;
///         `unsupported` initial values, strides, flat subscripts and parts of arrays as arguments.
Kernel separate_axis(const Kernel& k, const std::string& name, std::size_t axis,
                     std::vector<std::string>& parts);

inline constexpr std::int64_t kMostParts = 256;

}  // namespace moonloop
