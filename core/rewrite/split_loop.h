#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// `k` with `iname` replaced by `inner + length*outer`, 0 <= inner < length, in the instructions
/// that `within` selects. Tags do not pass on; legality is not checked. Fails as rewrite_inames().
Kernel split_loop(const Kernel& k, const std::string& iname, const std::string& outer,
                  const std::string& inner, std::int64_t length, const Match& within);

}  // namespace moonloop
