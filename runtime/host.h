#pragma once
#include <string>

#include "cost/machine_profile.h"

/// The processor that this process runs on.
namespace moonloop {

/// Its model: `model name`, where the system tells it; on Arm the numbers of maker and part.
std::string processor_model();

/// Of a parallel loop: the first of `$OMP_NUM_THREADS`, else the number of processors that this
/// process may use.
int thread_count();

/// The processor's caches, vectors and clock, as far as the system tells them, and the number of
/// processors that this process may use.
cost::MachineFacts host_facts();

}  // namespace moonloop
