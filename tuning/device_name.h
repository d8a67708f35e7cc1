#pragma once
#include <string>

#include "codegen/codegen.h"

namespace moonloop::tuning {

/// What a time on this machine is a time of: the name of device number `n` of a target (see
/// open_device()), for the host the processor's model, and for targets with threads their number,
/// which is the first of `$OMP_NUM_THREADS`, else that of the processors which this process may
/// use: `AMD EPYC 7B13, 2 threads`. Fails `no-device`.
std::string device_name(Target target, int n);

}  // namespace moonloop::tuning
