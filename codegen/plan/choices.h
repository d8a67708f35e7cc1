#pragma once
#include <cstdint>
#include <optional>

#include "core/expr/expr.h"

namespace moonloop {

/// A choice among integers by a number as one sum, where that number has only the values that
/// distinguish its arms:
///
///     0 if o == 0 else n//3 + min(1, n%3) if o == 1 else 2*(n//3) + min(2, n%3)
///     as    o*(n//3) + min(o, n%3)    for 0 <= o <= 2
struct NumberedChoice {
  Expr number;
  std::int64_t first = 0, last = 0;  // of its values
  Expr sum;
};

/// Nothing where an arm reads elements, which may exist for one number only, or is not a sum whose
/// factors, and the constants in whose `min`, grow evenly with the number. Linear in the arms.
std::optional<NumberedChoice> numbered_choice(const Expr& choice);

}  // namespace moonloop
