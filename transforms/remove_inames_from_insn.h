#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Takes instructions out of loops that they do not depend on: once for all iterations.
///
///     for i: t = 2*a[0]                                     t = 2*a[0]
///            b[i] = t*c[i]     with `i` removed from `t`    for i: b[i] = t*c[i]
///
/// \param guard  puts the instruction under the condition that the loops have an iteration
/// Refuses  unknown-iname; no-match; loop-needed  the instruction or the bounds of another loop of
///          it use the iname; and what with_insn_inames() refuses
Kernel remove_inames_from_insn(const Kernel& k, const std::vector<std::string>& inames,
                               const Match& insn_match, bool guard = false,
                               Proof proof = Proof::Made);

}  // namespace moonloop
