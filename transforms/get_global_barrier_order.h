#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// The ids of the barriers of all work-items in the order in which they are reached, loops read as
/// one iteration. Fails as nest() does. Cost: one nesting of the kernel.
std::vector<std::string> get_global_barrier_order(const Kernel& k);

/// The last of them that is reached before instruction `id`; null when there is none. Fails
/// `unknown-instruction`.
std::optional<std::string> find_most_recent_global_barrier(const Kernel& k, const std::string& id);

}  // namespace moonloop
