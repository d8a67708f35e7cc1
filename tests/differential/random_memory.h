#pragma once
#include <cstdint>
#include <string>

namespace moonloop::differential {

/// The kernel's text with memory used in less usual ways, for some seeds: arguments with strides,
/// offsets and Fortran's order, flat subscripts, elements' numbers, and a temporary that starts
/// with values and is written.
std::string with_layouts(std::uint64_t seed, const std::string& text);

}  // namespace moonloop::differential
