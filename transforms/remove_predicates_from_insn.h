#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Takes conditions off instructions that follow from the loops' bounds, the assumptions and the
/// conditions that stay.
///
/// \param predicates  as expressions; all where empty
/// Refuses  no-match      no selected instruction, or none with such a condition
///          other-values  an instance would be new; names it
///          not-proved    the condition is not affine
/// Cost     one isl set per condition
Kernel remove_predicates_from_insn(const Kernel& k, const Match& insn_match,
                                   const std::vector<std::string>& predicates = {},
                                   Proof proof = Proof::Made);

}  // namespace moonloop
