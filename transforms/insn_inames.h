#pragma once
#include <map>
#include <set>
#include <string>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// By instruction, the loops that it is to be in.
using InsnInames = std::map<std::string, std::set<std::string>>;

/// `k` with other loops around instructions, as add_inames_to_insn and remove_inames_from_insn make
/// it: repeated along loops that are new, done once for all iterations of those that are gone. An
/// instruction of `wanted` gets loops or loses loops, not both. It moves before or behind the
/// statements of the loops where its own place in the list does not keep the order.
///
/// \param guard  an instruction that loses loops gets the condition that these have an iteration
/// Refuses  other-values    an instance would be new, or would be lost; names it
///          repeats-update  an instance reads what it writes, so that repeating it changes values
///          foreign-effects a call of a function elsewhere, whose effects are not known
///          stale-value     and all that check_legal refuses: another statement comes between
/// Cost     staging's proof: isl for each pair of accesses that meet
Kernel with_insn_inames(const Kernel& k, const InsnInames& wanted, bool guard, Proof proof);

}  // namespace moonloop
