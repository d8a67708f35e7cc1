#include "core/base/half.h"

#include <bit>
#include <cmath>

namespace moonloop {
namespace {

// float32 has 13 bits more of a fraction, and an exponent that is larger by 112 for the same value.
constexpr int kMoreFraction = 13;
constexpr std::uint32_t kRebase = std::uint32_t{112} << 23;
constexpr std::uint32_t kInfinity = 0x7f800000, kLeastNormal = 0x38800000;  // 2^-14
constexpr std::uint32_t kBeyond = 0x47800000;                               // 2^16

}  // namespace

float half_value(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, size = bits & 0x7fffu;
  if (size < 0x0400) {  // below the normal ones: multiples of 2^-24
    const float value = static_cast<float>(size) * 0x1p-24f;
    return sign ? -value : value;
  }
  const std::uint32_t wide = size << kMoreFraction;
  const bool finite = size < 0x7c00;
  return std::bit_cast<float>(sign | (finite ? wide + kRebase : wide | kInfinity));
}

std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  const auto with_sign = [&](std::uint32_t h) { return static_cast<std::uint16_t>(sign | h); };
  if (size > kInfinity) return with_sign(0x7e00);
  if (size >= kBeyond) return with_sign(0x7c00);
  if (size < kLeastNormal)
    return with_sign(
        static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(size) * 0x1p24f)));
  const std::uint32_t rebased = size - kRebase, odd = rebased >> kMoreFraction & 1;
  return with_sign((rebased + 0x0fff + odd) >> kMoreFraction);  // a carry leads to infinity
}

std::uint16_t half_bits(double value) {
  auto single = static_cast<float>(value);
  if (std::isfinite(single) && static_cast<double>(single) != value) {
    // Truncated, with a sticky last bit: then neither ties nor the nearest half are mistaken.
    if (std::abs(static_cast<double>(single)) > std::abs(value))
      single = std::nextafter(single, 0.0f);
    single = std::bit_cast<float>(std::bit_cast<std::uint32_t>(single) | 1);
  }
  return half_bits(single);
}

}  // namespace moonloop
