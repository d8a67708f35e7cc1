#pragma once
#include <string>

#include "codegen/codegen.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// A C header with a function that launches an OpenCL program's kernels; the source of the kernels
/// is in it. `program` has its name, source and device part.
std::string opencl_header(const Plan& plan, const Program& program);

}  // namespace moonloop
