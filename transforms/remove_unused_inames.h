#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Takes inames out of their domains that no instruction, rule or other domain uses. What their
/// bounds say of the other inames of the domain stays.
///
/// \param inames  names or shell-style patterns; all unused ones where empty
/// Refuses  unknown-iname; no-match; iname-used  one of them is in use, and says by what
/// Cost     one projection per domain
Kernel remove_unused_inames(const Kernel& k, const std::vector<std::string>& inames = {},
                            Proof proof = Proof::Made);

}  // namespace moonloop
