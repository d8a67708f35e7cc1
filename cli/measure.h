#pragma once
#include "codegen/codegen.h"
#include "cost/machine_profile.h"

/// Measuring of a machine, for predictions: seconds for each, at most 60 for all.
namespace moonloop::cli {

/// The processor: what its cores compute and move, from functions of C. Fails `no-compiler`,
/// `compiler-failed`.
cost::MachineProfile measure_host();

/// Device number `n` of the target: what kernels compute and copy, what launches and transfers
/// take. Fails as run_kernel() does.
cost::MachineProfile measure_device(Target target, int n);

}  // namespace moonloop::cli
