#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Takes away the arguments that nothing reads, writes or is as long as: also those that only
/// arguments which go are as long as. What is assumed of a number that goes is forgotten.
Kernel remove_unused_arguments(const Kernel& k);

}  // namespace moonloop
