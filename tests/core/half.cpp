#include "core/base/half.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace moonloop;

namespace {

/// The value of binary16's fields, straight from their definition in IEEE 754.
double defined(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

}  // namespace

TEST_CASE("half: every value is what its bits say, and keeps them") {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float value = half_value(bits);
    const bool number = !std::isnan(defined(bits));
    CAPTURE(b);
    REQUIRE(std::isnan(value) == !number);
    if (!number) {
      REQUIRE(std::isnan(half_value(half_bits(value))));
      continue;
    }
    REQUIRE(static_cast<double>(value) == defined(bits));
    REQUIRE(half_bits(value) == bits);
  }
}

TEST_CASE("half: the nearest value, of two equally near ones the even") {
  for (std::uint32_t b = 0; b < 0x7c00; ++b) {
    const auto low = static_cast<std::uint16_t>(b), high = static_cast<std::uint16_t>(b + 1);
    const float x = half_value(low), y = b == 0x7bff ? 65536.0f : half_value(high);
    const float middle = x + (y - x) / 2;  // exact in float32
    CAPTURE(b);
    REQUIRE(half_bits(middle) == (b % 2 == 0 ? low : high));
    REQUIRE(half_bits(std::nextafter(middle, 0.0f)) == low);
    REQUIRE(half_bits(std::nextafter(middle, 1e9f)) == high);
    REQUIRE(half_bits(-middle) == ((b % 2 == 0 ? low : high) | 0x8000));
  }
  CHECK(half_bits(1e30f) == 0x7c00);
  CHECK(half_bits(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(half_bits(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(half_bits(-0.0f) == 0x8000);
}
