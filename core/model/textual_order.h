#pragma once
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Pairs of instructions, by index, that `depends_on` demands: the first one runs before the second
/// one.
std::vector<std::pair<int, int>> dependencies(const Kernel& k);

/// Instruction indices in list order, moved only as `depends_on` demands. Refuses
/// `dependency-cycle`.
std::vector<int> textual_order(const Kernel& k);

}  // namespace moonloop
