#include "tests/differential/random_atomics.h"

#include <fmt/format.h>

namespace moonloop::differential {

bool commuting_tag(const std::string& tag) { return tag.starts_with("at_") && tag != "at_none"; }

std::string random_atomic(Random& random, const AtomicParts& parts, const std::string& options) {
  const auto place = [&] {
    switch (random.below(4)) {
      case 0: return fmt::format("h[d[{}] % 7]", parts.subscript());
      case 1: return fmt::format("h[{} % 4]", parts.iname);
      case 2: return fmt::format("h[{}]", random.below(3));
      default: return fmt::format("h[{}]", parts.subscript());
    }
  };
  const std::string h = place();
  const auto small = [&] { return parts.addend(parts.term()); };
  const auto bits = [&] { return fmt::format("({}) % 7", parts.term()); };
  // No real number below 0 becomes one of a type without a sign.
  const bool positive = parts.integers && parts.mixed;
  const std::string minus = positive ? "+" : "-";
  const auto sign = [&] {
    if (positive) return fmt::format("({} % 2)", parts.iname);
    return parts.integers ? fmt::format("(1 - 2*({} % 2))", parts.iname)
                          : fmt::format("(1.0 if {} % 2 == 0 else -1.0)", parts.iname);
  };
  const auto statement = [&](const std::string& value, const char* kind) {
    return fmt::format("{} = {}  {{{}, atomic, tags={}}}", h, value, options, kind);
  };
  // With int32, uint64 becomes float64: such sums and products round, and have no bits.
  const bool wide = parts.type == "uint64", rounds = wide && random.chance(50);
  const auto whole = [&](const std::string& e) {
    return wide ? fmt::format("cast(uint64, {})", e) : e;
  };
  const auto operand = [&](const std::string& e) { return rounds ? e : whole(e); };
  const auto added = [&] { return operand(small()); };
  const auto kind = [&](const char* commuting) { return rounds ? "at_none" : commuting; };
  static constexpr int kCommuting[] = {0, 2, 3, 4, 5, 6, 11, 12, 13};
  const int one = parts.operation % (parts.integers ? 9 : 6);
  switch (parts.operation >= 0 ? kCommuting[one] : random.below(parts.integers ? 15 : 11)) {
    case 0:
    case 1:
      // Sums in float16 round too much to be compared.
      if (parts.half) break;
      return random.chance(50) ? statement(fmt::format("{} + {}", h, added()), kind("at_sum"))
                               : statement(fmt::format("{} + {} {} {}", added(), h, minus, added()),
                                           kind("at_sum"));
    case 2:
      if (parts.half) break;
      return statement(fmt::format("{} {} {}", h, minus, added()), kind("at_sum"));
    case 3: return statement(fmt::format("{}*{}", h, operand(sign())), kind("at_product"));
    case 4: return statement(fmt::format("min({}, {})", small(), h), "at_min");
    case 5: return statement(fmt::format("max({}, {})", h, small()), "at_max");
    case 6: {
      const std::string e = small();
      return statement(fmt::format("{0} if {0} > {1} else {1}", e, h), "at_chosen");
    }
    case 7:
      return statement(
          parts.integers ? fmt::format("({}*3 + 1) % 1009", h) : fmt::format("0.5*{} + 1.0", h),
          "at_same");
    case 8:  // Horner's
      return statement(parts.integers ? fmt::format("({}*2 + {}) % 1009", h, small())
                                      : fmt::format("0.25*({} + {})", h, parts.term()),
                       "at_none");
    case 9: return statement(small(), "at_none");  // a store
    case 10: {                                     // the old value is used
      const std::string to = fmt::format("g[{}]", parts.subscript());
      return fmt::format("{}, {} = make_tuple({}, max({}, {}))  {{{}, atomic, tags=at_none}}", to,
                         h, h, h, small(), options);
    }
    case 11: return statement(fmt::format("{} | {}", h, whole(bits())), "at_bits_or");
    case 12: return statement(fmt::format("{} & {}", whole(bits()), h), "at_bits_and");
    case 13: return statement(fmt::format("{} ^ {}", h, whole(bits())), "at_bits_xor");
    default: return statement(fmt::format("({0} + {0}) % 61", h), "at_same_too");
  }
  return statement(small(), "at_none");
}

}  // namespace moonloop::differential
