#pragma once
#include <string>

namespace moonloop {

/// A compiler's log, followed by the line of `source` with the first error, with its neighbours and
/// a mark. Only the log where it names no line of the source.
std::string with_marked_line(const std::string& log, const std::string& source);

}  // namespace moonloop
