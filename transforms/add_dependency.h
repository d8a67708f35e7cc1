#pragma once
#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Makes instructions run after others, in each iteration of the loops that they share.
///
/// An instruction that both matches select does not depend on itself.
/// Refuses  no-match          one of the matches selects nothing
///          dependency-cycle  an instruction would have to run before itself
///          cannot-nest, breaks-order  the kernel's own dependences demand the opposite
Kernel add_dependency(const Kernel& k, const Match& insn_match, const Match& depends_on,
                      Proof proof = Proof::Made);

}  // namespace moonloop
