#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

using InameNames = std::vector<std::pair<std::string, std::string>>;  // old, new

/// Renames several loops at once; names may change places.
///
/// Refuses  unknown-iname; bad-name; name-taken  something else has the name, or two would
Kernel rename_inames_in_batch(const Kernel& k, const InameNames& new_names,
                              Proof proof = Proof::Made);

}  // namespace moonloop
