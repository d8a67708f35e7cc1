#pragma once
#include <cctype>
#include <cstdint>
#include <string>

namespace moonloop::differential {

/// Whether `c` may stand in a name, behind its first character.
inline bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// One text in five of random_kernel() with other names for arrays, loops and temporaries: words
/// that C, OpenCL C, CUDA, their headers or our own functions take. The others as they are. The
/// parameter `n` keeps its name, which the sizes use.
std::string with_reserved_names(std::uint64_t seed, const std::string& text);

}  // namespace moonloop::differential
