#pragma once
#include <functional>
#include <string>

#include "codegen/target.h"

namespace moonloop {

/// Puts the pragma for `unr_hint` on loops; `text` gives it for a number of copies.
void decorate_device(Block& block, const Plan& plan, const std::function<std::string(int)>& text);

}  // namespace moonloop
