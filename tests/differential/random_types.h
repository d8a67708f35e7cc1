#pragma once
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// The types of a random kernel's arrays: all alike, or mixed within integers of all sizes, signed
/// and unsigned, or within reals.
class RandomTypes {
 public:
  RandomTypes(Random& random, bool integers);

  /// Of an argument or a temporary.
  std::string next();
  bool mixed() const { return mixed_; }
  /// Whether values of this kernel's types may be added up: sums in float16 round too much to be
  /// compared.
  bool adds() const { return adds_; }
  /// `value` within the range of all types, whatever recurrences do.
  std::string small(const std::string& value) const;
  /// The product of two elements, in a type that holds it.
  std::string product(const std::string& a, const std::string& b) const;
  /// `value` as a repeated addend: small, and of a type with which no sum becomes a real number
  /// that its element does not hold.
  std::string addend(const std::string& value) const;
  /// `term` in an operation that depends on types: a cast, a negation, a shift, bits, a function.
  std::string dressed(const std::string& term);

 private:
  Random& r_;
  bool integers_, mixed_, adds_ = true;
  std::string type_;
};

}  // namespace moonloop::differential
