#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Whether `e` depends on no temporary of `k`, and on no argument that is not known to be an
/// integer (isl would read `x > 0 and x < 1` as never true): its value at an instance depends only
/// on the instance.
bool is_of_instances(const Kernel& k, const Expr& e);

}  // namespace moonloop
