#include "core/sets/witness.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <string>

using namespace moonloop;

namespace {

bool is_reached(const std::string& s, const std::string& pairs) {
  const Set all = isl_set_read_from_str(isl(), s.c_str());
  const Map m = isl_map_read_from_str(isl(), pairs.c_str());
  return yes(isl_set_plain_is_empty(without_reached(all, m).get()));
}

}  // namespace

TEST_CASE("witnesses: digits of tiles, remainders of stages") {
  // Threads and lanes write all elements of a tile, by digits of their number.
  const std::string digits =
      "{ [t, o, i] -> [x, y] : 0 <= t < 4 and 0 <= o < 32 and 0 <= i < 4 and "
      "x = floor((128t + 4o + i)/8) and y = (128t + 4o + i) mod 8 }";
  CHECK(is_reached("{ [x, y] : 0 <= x < 64 and 0 <= y < 8 }", digits));
  CHECK_FALSE(is_reached("{ [x, y] : 0 <= x <= 64 and 0 <= y < 8 }", digits));
  // Stage k is written two iterations before, in one of three places.
  const std::string ahead =
      "[n] -> { [w] -> [k] : 0 <= w and 8w + 16 < n and w < k and (w + 2 - k) mod 3 = 0 }";
  CHECK(is_reached("[n] -> { [k] : 2 <= k and 8k < n }", ahead));
  CHECK_FALSE(is_reached("[n] -> { [k] : 1 <= k and 8k < n }", ahead));
}

TEST_CASE("witnesses: what one relation leaves may be reached by another one") {
  const Set all = isl_set_read_from_str(isl(), "[n] -> { [k] : 0 <= k and 8k < n }");
  const Map later =
      isl_map_read_from_str(isl(), "[n] -> { [w] -> [k] : 0 <= w and 8w + 16 < n and k = w + 2 }");
  const Map first = isl_map_read_from_str(
      isl(), "[n] -> { [w] -> [k] : 0 <= w <= 1 and 8w < n and (k - w) mod 3 = 0 }");
  const Set left = without_reached(all, later);
  CHECK(yes(isl_set_is_equal(
      left.get(),
      Set(isl_set_read_from_str(isl(), "[n] -> { [k] : 0 <= k <= 1 and 8k < n }")).get())));
  CHECK(yes(isl_set_plain_is_empty(without_reached(left, first).get())));
}

TEST_CASE("witnesses: large numbers are not tried") {
  const std::string all = "[n] -> { [k] : 0 <= k < n and n < 2147483647 }";
  CHECK_FALSE(is_reached(all, "[n] -> { [w] -> [k] : k = w and w < 2147483647 }"));
  CHECK_FALSE(is_reached(all, "[n] -> { [w] -> [k] : k = 2147483648w + n }"));
  CHECK(is_reached(all, "[n] -> { [w] -> [k] : k = w }"));
}

TEST_CASE("witnesses: what they leave out, isl finds reached") {
  std::mt19937 random(20261129);
  const auto any = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  int shown = 0, reached = 0;
  for (int round = 0; round < 1500; ++round) {
    const int outer = any(1, 6), inner = any(1, 6), first = any(-2, 2);
    const auto sum = [&] {
      return fmt::format("{}a + {}b + {}", any(0, 3) == 0 ? any(-3, 5) : inner, any(-2, 2),
                         any(-3, 3));
    };
    std::string pairs =
        fmt::format("[n] -> {{ [a, b] -> [x, y] : {} <= a < {} and {} <= b < {} and x = {}", first,
                    any(0, 2) == 0 ? "n" : std::to_string(outer), any(-1, 0), inner, sum());
    switch (any(0, 3)) {
      case 0: pairs += fmt::format(" and y = floor(({})/{})", sum(), any(2, 5)); break;
      case 1: pairs += fmt::format(" and y = ({}) mod {}", sum(), any(2, 5)); break;
      case 2: pairs += fmt::format(" and (y - ({})) mod {} = 0", sum(), any(2, 4)); break;
      default: pairs += fmt::format(" and {} <= y", sum());
    }
    pairs += " }";
    const Map m = isl_map_read_from_str(isl(), pairs.c_str());
    // Some of the points that are reached, or some others with them.
    Set s = isl_map_range(m.copy());
    if (any(0, 2) == 0)
      s = isl_set_read_from_str(isl(), fmt::format("[n] -> {{ [x, y] : {} <= x < {} and 0 <= y < "
                                                   "{} and n > 3 }}",
                                                   any(-1, 2), any(0, 6), any(1, 4))
                                           .c_str());
    const Set left = without_reached(s, m),
              least = isl_set_subtract(s.copy(), isl_map_range(m.copy()));
    if (!yes(isl_set_is_subset(left.get(), s.get())) ||
        !yes(isl_set_is_subset(least.get(), left.get())))
      FAIL(pairs << " of " << str(s) << " leaves " << str(left));
    shown += yes(isl_set_is_empty(left.get())), reached += yes(isl_set_is_empty(least.get()));
  }
  CHECK(reached > 800);
  CHECK(3 * shown > reached);  // the others take cases
}
