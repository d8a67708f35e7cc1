#pragma once
#include <cstdint>

/// IEEE 754's binary16, the type float16: kept in two bytes, computed with as float32.
namespace moonloop {

/// The value of 16 bits; exact.
float half_value(std::uint16_t bits);
/// The bits of the nearest value (ties to even); infinity beyond 65519.99.
std::uint16_t half_bits(float value);
std::uint16_t half_bits(double value);  // rounded once, not to float32 first

}  // namespace moonloop
