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
  // Half precision stays away from 0, near which products round.
  if (!integers_)
    return mixed_ || type_ == "float16" ? fmt::format("0.25*({}) + 0.125", value)
                                        : fmt::format("0.25*({})", value);
  // The literal keeps sums out of int8 and int16, which do not hold them.
  return mixed_ ? fmt::format("(0 + {}) % 101", value) : fmt::format("({}) % 1009", value);
}

std::string RandomTypes::product(const std::string& a, const std::string& b) const {
  return fmt::format("{}{}*{}", integers_ && mixed_ ? "1*" : "", a, b);
}

std::string RandomTypes::addend(const std::string& value) const {
  if (!integers_) return "0.125*" + value;
  return mixed_ ? fmt::format("cast(int32, ({}) % 7)", value) : fmt::format("({}) % 7", value);
}

std::string RandomTypes::dressed(const std::string& term) {
  if (!mixed_) return term;
  // From -50 to 50, of any type: every type holds it, or takes its low bits.
  const auto cast_to = [&](const std::string& type) {
    return integers_ ? fmt::format("cast({}, cast(int32, {} % 101) - 50)", type, term)
                     : fmt::format("cast({}, {})", type, term);
  };
  switch (r_.below(integers_ ? 12 : 10)) {
    case 0: return fmt::format("(-{})", integers_ ? cast_to(next()) : term);
    case 1: return fmt::format("abs({})", integers_ ? cast_to(next()) : term);
    case 2: return cast_to(next());
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
    case 8:
      return integers_ ? fmt::format("({} // 3)", term)
                       : fmt::format("min(abs({}), 1.5)**{}", term, r_.between(9, 12));
    case 9: return integers_ ? fmt::format("cast({}, {} > 4)", next(), term) : term;
    default: return term;
  }
}

}  // namespace moonloop::differential
