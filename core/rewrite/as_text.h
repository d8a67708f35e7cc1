#pragma once
#include <optional>

#include "core/model/kernel.h"

namespace moonloop {

/// The kernel whose text means what `k` means. Text has no reference: its order is that of the
/// loops without the tags of teams, in which statements that share an iname share the loop. A team
/// runs each statement before the next one, so that in a kernel an iname of a team may be inside
/// the separate loops of several statements, and inside of loops that are inside of it in the text.
/// Where that would break the order, the inames of teams are inside of all other loops in the
/// result, or the statements that have other loops have an iname of their own, with the same tag.
/// `k` itself for all other kernels, and where none of that would give the same order, as for a
/// value that one loop leaves to another in each lane.
///
/// Cost: for kernels with such an iname some proofs of the order of all statements.
Kernel as_text(const Kernel& k);
/// Nothing where `as_text(k)` is `k`.
std::optional<Kernel> text_with_copies(const Kernel& k);

}  // namespace moonloop
