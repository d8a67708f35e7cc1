#pragma once
#include <vector>

#include "core/kernel.h"

namespace moonloop {

/// Instruction indices in list order, moved only as `depends_on` demands. Refuses
/// `dependency-cycle`.
std::vector<int> textual_order(const Kernel& k);

}  // namespace moonloop
