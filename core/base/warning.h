#pragma once
#include <functional>

#include "core/base/diagnostic.h"

/// What may be a mistake, but stops nothing: a Diagnostic that no one throws.
namespace moonloop {

/// Hears of warnings; empty: nobody does.
using WarningSink = std::function<void(const Diagnostic&)>;

/// As render(), with the word `warning`.
std::string render_warning(const Diagnostic& d, bool color = false);

}  // namespace moonloop
