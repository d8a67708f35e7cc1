#pragma once
#include <string>

namespace moonloop {

/// What a compiler said, and after it the line of `source` at which it found the first error, with
/// its neighbours and a mark. The log alone where it names no line of the source.
std::string with_marked_line(const std::string& log, const std::string& source);

}  // namespace moonloop
