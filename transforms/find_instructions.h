#pragma once
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// The instructions that `match` selects, in list order.
std::vector<InsnPtr> find_instructions(const Kernel& k, const Match& match);

}  // namespace moonloop
