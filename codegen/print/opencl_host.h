#pragma once
#include <string>

#include "codegen/codegen.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// A function in C that launches an OpenCL program's kernels, whose source is beside it. `program`
/// has its name, source and device part. With `host_arrays`, the parameters, also one for arrays of
/// the host, `NAME_of_c(context, queue, …)`, which copies them to the device and back.
Pieces opencl_launcher(const Plan& plan, const Program& program,
                       const std::vector<Parameter>* host_arrays = nullptr);

/// A C header with a function that launches an OpenCL program's kernels; the source of the kernels
/// is in it. `program` has its name, source and device part.
std::string opencl_header(const Plan& plan, const Program& program);

}  // namespace moonloop
