#pragma once
#include <cstdint>
#include <string>

namespace moonloop::differential {

/// One text in five of random_kernel() with other names for arrays, loops and temporaries: words
/// that C, OpenCL C, CUDA, their headers or our own functions take. The others as they are. The
/// parameter `n` keeps its name, which the sizes use.
std::string with_reserved_names(std::uint64_t seed, const std::string& text);

}  // namespace moonloop::differential
