#include "tests/differential/random_types.h"

#include <fmt/format.h>

namespace moonloop::differential {

RandomTypes::RandomTypes(Random& random, bool integers)
    : r_(random), integers_(integers), mixed_(r_.chance(35)) {
  type_ = integers_ ? r_.pick({"int64", "int32"}) : r_.pick({"float64", "float16", "float32"});
  adds_ = integers_ || (!mixed_ && type_ != "float16");
}

std::string RandomTypes::next() {
  if (!mixed_) return type_;
  return integers_
             ? r_.pick({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
             : r_.pick({"float16", "float32", "float64"});
}

std::string RandomTypes::small(const std::string& value) const {
  if (!integers_) return fmt::format("0.25*({})", value);
  return fmt::format("({}) % {}", value, mixed_ ? 101 : 1009);
}

std::string RandomTypes::dressed(const std::string& term) {
  if (!mixed_) return term;
  switch (r_.below(integers_ ? 12 : 8)) {
    case 0: return fmt::format("(-{})", term);
    case 1: return fmt::format("abs({})", term);
    case 2: return fmt::format("cast({}, {})", next(), term);
    case 3:
      return integers_ ? fmt::format("truncmod({}, 7)", term) : fmt::format("floor({})", term);
    case 4: return integers_ ? fmt::format("(~{})", term) : fmt::format("sqrt(abs({}))", term);
    case 5:
      return integers_ ? fmt::format("({} << {})", term, r_.between(0, 3))
                       : fmt::format("({} % 3)", term);
    case 6:
      return integers_ ? fmt::format("({} >> {})", term, r_.between(0, 70))
                       : fmt::format("({} // 2)", term);
    case 7:
      return integers_ ? fmt::format("({} & 15)", term) : fmt::format("fma({}, 0.5, 0.25)", term);
    case 8: return fmt::format("({} // 3)", term);
    case 9: return fmt::format("cast({}, {} > 4)", next(), term);
    default: return term;
  }
}

}  // namespace moonloop::differential
