#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Renames an argument everywhere, also in bounds, shapes, assumptions and claims.
///
/// Refuses  unknown-argument; bad-name; name-taken
Kernel rename_argument(const Kernel& k, const std::string& old_name, const std::string& new_name);

}  // namespace moonloop
