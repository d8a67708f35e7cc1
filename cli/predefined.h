#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"

namespace moonloop::cli {

using Macros = std::vector<std::pair<std::string, std::string>>;

/// The macros that a Fortran compiler defines by itself, with the options of a command, in files
/// that it preprocesses: asks it (`-E -dM`, about 10 ms). None where it does not say.
std::optional<Macros> predefined_macros(const std::vector<std::string>& command);

/// What to say where it does not.
Diagnostic unknown_macros(const std::string& compiler);

/// Whether the preprocessor has something to do in a file; false where it cannot be read.
bool has_preprocessor_lines(const std::string& path);

}  // namespace moonloop::cli
