#pragma once
#include <functional>

#include "core/base/diagnostic.h"

/// A possible mistake that stops nothing: a Diagnostic that is not thrown.
namespace moonloop {

/// Receives warnings; empty to ignore them.
using WarningSink = std::function<void(const Diagnostic&)>;

/// As render(), with the word `warning`.
std::string render_warning(const Diagnostic& d, bool color = false);

}  // namespace moonloop
