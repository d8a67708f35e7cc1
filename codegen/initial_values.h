#pragma once
#include "codegen/codegen.h"
#include "core/model/kernel.h"

namespace moonloop {

/// `k`, complete, with what a target needs for temporaries that start with values. Those that
/// nothing writes are tables. On devices the others are filled from a table before all else; fails
/// `unsupported` where each group or work-item has one of its own.
Kernel with_initial_values(Kernel k, Target target);

}  // namespace moonloop
