#pragma once
#include "core/kernel.h"

namespace moonloop {

/// Refuses reads of temporaries that certainly find nothing written (`undefined-read`): a temporary
/// without any write; a read that stands before every write in statement order, in an iteration
/// that no write can precede; an element that no instance writes. Never refuses a legal kernel:
/// writes are over-approximated, and reads are judged only where their instances are exact. `k` has
/// no rules.
void check_undefined_reads(const Kernel& k);

}  // namespace moonloop
