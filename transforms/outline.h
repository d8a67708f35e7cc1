#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Makes a kernel `name` of the statements that `within` selects, and a call of it in their place.
/// Loops that no other statement needs go along; all the statements have to share the others, which
/// stay around the call. What they access becomes arguments of the same names: arrays as a whole,
/// scalars that they set and that are needed elsewhere as arrays without axes; scalars that they
/// alone need, and set first, become the new kernel's own.
///
/// Refuses  no-match       `within` selects nothing
///          other-loops    selected statements are in different loops that stay
///          breaks-order   other statements would have to run between them
///          unsupported    a loop that goes along has bounds that they compute for others
Kernel outline(const Kernel& k, const Match& within, const std::string& name);

}  // namespace moonloop
