#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Old inames, each with the new one that copies it.
using InameCopies = std::vector<std::pair<std::string, std::string>>;

/// `k` with new inames over the same values in place of old ones in the instructions that `picked`
/// says; the old ones stay for others. Inames with bounds in one domain get one new domain between
/// them. Tags are not passed on. Does not check legality; fails as rewrite_inames() does.
/// Cost: one walk over the instructions per domain concerned.
Kernel with_own_loops(const Kernel& k, const InameCopies& copies, const std::vector<bool>& picked);

}  // namespace moonloop
