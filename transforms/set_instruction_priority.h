#pragma once
#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Gives instructions a priority: of those that may run next, the ones of the highest priority run
/// first, in the order in which they are written. What a statement needs still runs before it.
///
///     a[i] = 1                                      c[i] = 3
///     c[i] = 3    {id=late}     priority 1 of late  a[i] = 1
///
/// Refuses  no-match; and what check_legal() refuses
/// Cost     linear in the pairs of statements that access one variable, and a proof
Kernel set_instruction_priority(const Kernel& k, const Match& insn_match, int priority,
                                Proof proof = Proof::Made);

}  // namespace moonloop
