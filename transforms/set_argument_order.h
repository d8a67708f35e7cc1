#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Puts the arguments into another order.
///
/// Refuses  unknown-argument; bad-order  not each argument once
Kernel set_argument_order(const Kernel& k, const std::vector<std::string>& names);

}  // namespace moonloop
