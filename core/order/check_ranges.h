#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Every iname, and every partial sum in a bound, fits in the kernel's index type for the given
/// values of parameters; names that depend on other parameters are skipped. Fails `size-overflow`
/// and names the iname and the value that it reaches. Cost: linear in the constraints, with isl
/// only where the coefficients are large enough for an overflow.
void check_ranges(const Kernel& k, const std::map<std::string, std::int64_t>& values);

}  // namespace moonloop
