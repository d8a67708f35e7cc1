#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Puts loops around instructions, which then run again in each iteration.
///
///     t = a[0]                                         for i: t = a[0]
///     for i: b[i] = t*c[i]     with `i` added to `t`          b[i] = t*c[i]
///
/// Refuses  unknown-iname; no-match; missing-loop  the bounds of the loop depend on one that is not
///          around the instruction; and what with_insn_inames() refuses
Kernel add_inames_to_insn(const Kernel& k, const std::vector<std::string>& inames,
                          const Match& insn_match, Proof proof = Proof::Made);

}  // namespace moonloop
