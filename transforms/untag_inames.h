#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Takes the tags off inames (shell-style patterns); their loops run in order again.
///
/// \param tag_type  which tag: `unr`, `g.0`, or `g` for all of its axes; empty for any
/// Refuses          untagged-iname  an iname has no tag, or another one
Kernel untag_inames(const Kernel& k, const std::vector<std::string>& inames,
                    const std::string& tag_type = {}, Proof proof = Proof::Made);

}  // namespace moonloop
