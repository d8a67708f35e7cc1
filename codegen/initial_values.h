#pragma once
#include "codegen/codegen.h"
#include "core/model/kernel.h"

namespace moonloop {

/// `k`, complete, with the code that a target needs for temporaries with initial values. Those that
/// are never written are tables. On devices the others are filled from a table first; fails
/// `unsupported` where each group or work-item has one of its own.
Kernel with_initial_values(Kernel k, Target target);

}  // namespace moonloop
