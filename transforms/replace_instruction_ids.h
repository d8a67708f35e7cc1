#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

using InsnNames = std::vector<std::pair<std::string, std::string>>;  // old, new

/// Gives instructions other ids, also where others depend on them; ids may change places.
///
/// Refuses  unknown-instruction; bad-name  no identifier; name-taken  another instruction has it
Kernel replace_instruction_ids(const Kernel& k, const InsnNames& replacements);

}  // namespace moonloop
