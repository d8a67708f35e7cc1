#pragma once
#include <map>
#include <string>

#include "runtime/arguments.h"

namespace moonloop {

/// `given`, and the integer scalars that follow from the shapes of the .npy files that are read:
/// `a: float64[n + 1]` with a file of 20 elements gives `n = 19`. An extent determines the one
/// scalar in it that is not known yet, where no other value would do. read_npy() finds
/// contradictions between files. `inputs` maps arrays to paths; `k` is complete. Fails as
/// read_npy_header().
GivenValues with_sizes_of_files(const Kernel& k, GivenValues given,
                                const std::map<std::string, std::string>& inputs);

/// `k` with the extents that nothing else says (kUnknownExtent) from the same files. Fails as
/// read_npy_header().
Kernel with_extents_of_files(Kernel k, const std::map<std::string, std::string>& inputs);

}  // namespace moonloop
