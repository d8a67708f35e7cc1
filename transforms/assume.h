#pragma once
#include <string>

#include "core/base/source.h"
#include "core/model/kernel.h"

namespace moonloop {

/// Adds an assumption about parameters: isl constraints such as `n mod 16 = 0 and n >= 16`, or a
/// parameter set. Code checks it where the kernel is called; nothing else changes.
///
/// Refuses  bad-domain          the text is not a set of constraints
///          unknown-parameter   it is about a name that is not a parameter
///          empty-assumptions   it contradicts the assumptions so far
Kernel assume(const Kernel& k, const std::string& assumption, const Span& at = {});

}  // namespace moonloop
