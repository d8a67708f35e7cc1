#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Puts the bodies of called kernels in the places of their calls: of those of `callees`, all where
/// there are none, in the instructions that `within` selects. The callee is the one of the source,
/// or with `steps` what these made of it. Its loops, temporaries and ids keep their names, with a
/// number behind where the caller has them.
///
/// Refuses  no-match     no selected instruction calls such a kernel
///          unsupported  what inline_calls() cannot put into the caller
Kernel inline_kernels(const Kernel& k, const std::vector<std::string>& callees, const Match& within,
                      bool steps = false);

}  // namespace moonloop
