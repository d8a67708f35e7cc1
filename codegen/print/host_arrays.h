#pragma once
#include "codegen/codegen.h"

namespace moonloop {

/// The number of elements that an array of the host spans, over the scalar parameters. Fails
/// `unsupported` where it has no extents by which it could be copied; `kernel` is whose it is.
Expr host_elements(const Parameter& a, const Kernel& kernel);

}  // namespace moonloop
