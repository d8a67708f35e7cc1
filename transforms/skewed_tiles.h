#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/order/reordered.h"

namespace moonloop {

/// By instruction, the expression whose value, divided by the size and rounded down, is its tile.
using AlongByInstruction = std::vector<std::pair<std::string, std::string>>;

/// `k` with a loop `tile`, right outside of `iname`, over the tiles of all that `iname` has in it;
/// an empty name is chosen. See the documentation of the step.
Kernel skewed_tiles(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
                    std::int64_t size, const std::string& tile, const Span& at,
                    Proof proof = Proof::Made);

}  // namespace moonloop
