#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Puts temporaries one behind the other into one, along an axis.
///
///     temp t: float64[n]   temp u: float64[m]       temp tu: float64[n + m]
///     t[i] = 1             u[j] = t[j]              tu[i] = 1    tu[j + n] = tu[j]
///
/// Refuses  unknown-temporary; twice; bad-name, name-taken; bad-axis; other-shape  they differ in
///          type, memory, order, or in the extent of another axis; unsupported  initial values,
///          strides, shared memory, flat subscripts; passed-array
Kernel concatenate_arrays(const Kernel& k, const std::vector<std::string>& names,
                          const std::string& new_name, std::int64_t axis);

}  // namespace moonloop
