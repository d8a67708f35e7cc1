#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Adds a tag to the instructions that `within` selects. Tags have no meaning but for matching.
/// Refuses  bad-name  the tag is not a name
///          no-match  `within` selects no instruction
Kernel tag_instructions(const Kernel& k, const std::string& new_tag, const Match& within = {});

}  // namespace moonloop
