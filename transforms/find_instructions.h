#pragma once
#include <vector>

#include "core/kernel.h"
#include "core/match.h"

namespace moonloop {

/// The instructions that `match` selects, in list order.
std::vector<InsnPtr> find_instructions(const Kernel& k, const Match& match);

}  // namespace moonloop
