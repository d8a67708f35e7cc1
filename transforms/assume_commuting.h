#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// The caller vouches that any order of the atomic updates of each of these variables is as good as
/// the one in the kernel, also where a value that an update fetches is used:
///
///     at[i], count = make_tuple(count, count + 1)   {atomic}
///
/// numbers the iterations in the order in which they run. The claim is listed in the trace.
///
/// Refuses  unknown-variable; not-atomic (no statement updates it atomically)
Kernel assume_commuting(const Kernel& k, const std::vector<std::string>& variables);

}  // namespace moonloop
