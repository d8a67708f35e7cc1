#pragma once
#include <cstdint>
#include <string>

#include "runtime/buffer.h"

/// Whether two runs gave the same array.
namespace moonloop {

struct Comparison {
  std::string array;
  std::int64_t elements = 0;
  std::int64_t different = 0;   // elements beyond the tolerance
  std::int64_t first = -1;      // C-order number of the first of them, -1 if there is none
  std::string index;            // of the first: `[3, 4]`
  std::string expected, found;  // of the first, as text
  double largest = 0;  // |x - y| / scale over all real elements (infinite for NaN against a number)
  double allowed = 0;  // what `largest` may be
  bool equal() const { return different == 0; }
};

/// Compares element by element. Integers and bools must be equal bit for bit; NaN equals NaN; an
/// infinity equals itself. Reals x (found) and y (expected) are equal when
///
///     |x - y| <= allowed * max(|y|, rms),    allowed = factor * eps * sqrt(depth)
///
/// eps is the distance from 1 to the next number of the type (of float32 for float16, which is
/// computed as that, and is allowed four of its own steps besides, for where it is stored), rms the
/// root mean square of the finite expected elements of the array, and `depth` how many operations
/// stand behind an element: rounding errors of that many terms, summed in another order or with
/// contracted operations, grow like its square root (Higham, Accuracy and Stability of Numerical
/// Algorithms, section 2.8). The rms admits elements that cancellation made small. A complex number
/// counts as one. With factor 0 reals must be equal bit for bit, except that NaNs are all equal.
/// Shapes and types of the two are equal.
Comparison compare(const Buffer& expected, const Buffer& found, double factor, double depth);

inline constexpr double kToleranceFactor = 64;

}  // namespace moonloop
