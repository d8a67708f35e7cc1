#pragma once
#include <vector>

#include "core/model/kernel.h"
#include "tests/differential/random_groups.h"

namespace moonloop::differential {

/// The text of two or three random kernels on the same arrays, and a first step `fuse_kernels` that
/// makes one of them; later steps fuse loops that the kernels share, by rename_iname.
Opening random_fusion(Random& random, const std::string& name);

/// The kernel that the step makes of them, loops separate. The steps are those of the opening, or
/// the rest of them.
Kernel fused(const std::vector<Kernel>& kernels, const std::vector<Call>& steps);
/// Whether a step is that one, which is not a transform of the registry.
bool is_fusion(const Call& step);

}  // namespace moonloop::differential
