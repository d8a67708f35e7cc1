#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/sets/isl.h"

namespace moonloop {

/// A number of things as a function of a kernel's parameters: a quasi-polynomial on each of
/// finitely many pieces of their space, zero elsewhere (core/count/count_set.h).
class Count {
 public:
  Count() : Count(0) {}  // zero
  explicit Count(std::int64_t constant);
  explicit Count(PwQPolynomial number, bool exact = true);

  /// False for an upper bound: something depends on data.
  bool exact() const { return exact_; }
  const PwQPolynomial& number() const { return number_; }
  bool is_zero() const;

  // Sum and product fail `count-too-hard` where the cases of both together become too many.

  Count operator+(const Count& o) const;
  Count operator*(const Count& o) const;

  Count times(std::int64_t factor) const;
  Count as_bound() const;  // no longer exact
  /// The same where the parameters are in `context`, a parameter set, in simpler terms.
  Count under(const Set& context) const;

  std::vector<std::string> parameters() const;  // that it depends on
  /// Its value, any integer. Fails `missing-parameter` and lists names without a value; names that
  /// it does not depend on are ignored.
  Val eval(const std::map<std::string, std::int64_t>& values) const;
  /// The same as a number of 64 bits; fails `size-overflow`.
  std::int64_t number_at(const std::map<std::string, std::int64_t>& values) const;

  /// An expression of the kernel language: `(n**2 + n)//2 if n >= 1 else 0`. Bounds read `at most
  /// …`.
  std::string str() const;

 private:
  PwQPolynomial number_;
  bool exact_ = true;
};

}  // namespace moonloop
