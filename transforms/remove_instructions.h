#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Removes instructions. Dependences on them become dependences on what they depended on.
///
/// Refuses  unknown-instruction  no such instruction
///          value-needed         a value that a removed one writes reaches an instruction that
///                               stays, or a loop bound; unless proofs are left out
/// Values that nothing reads, those of output arguments too, are no longer computed.
Kernel remove_instructions(const Kernel& k, const std::vector<std::string>& insn_ids,
                           Proof proof = Proof::Made);

}  // namespace moonloop
