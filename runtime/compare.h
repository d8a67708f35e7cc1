#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "core/interpreter/error_bounds.h"
#include "runtime/buffer.h"

/// Whether two runs gave the same array.
namespace moonloop {

struct Comparison {
  std::string array;
  std::int64_t elements = 0;
  std::int64_t different = 0;   // elements beyond their bound
  std::int64_t rounded = 0;     // whose bound is not 0
  std::int64_t undecided = 0;   // whose bound is infinite: anything equals them
  std::int64_t first = -1;      // C-order number of the first different one, -1 if there is none
  std::string index;            // of the first: `[3, 4]`
  std::string expected, found;  // of the first, as text
  double bound = 0;             // of the first, with the factor
  double largest = 0;  // |x - y| over its bound, the largest of the equal rounded elements'
  bool equal() const { return different == 0; }
};

/// How far the scalar at an address of the expected array may be from the one found.
using BoundAt = std::function<double(const std::byte*)>;

/// Compares element by element. Reals x (found) and y (expected) are equal when
///
///     |x - y| <= factor * bound
///
/// A bound of 0 asks for equality bit for bit, except that NaN equals NaN and 0 equals -0. An
/// infinity equals only itself. Complex numbers count as one, integers as reals. With factor 0 all
/// bounds are 0. Shapes and types of the two are equal.
Comparison compare(const Buffer& expected, const Buffer& found, const BoundAt& bound,
                   double factor = 1);
/// With the bounds that the interpreter's run on `expected` gave.
Comparison compare(const Buffer& expected, const Buffer& found, const ErrorBounds& bounds,
                   double factor = 1);

inline constexpr double kToleranceFactor = 1;

}  // namespace moonloop
