#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/interpreter/interpreter_nodes.h"
#include "core/sets/isl.h"

/// The interpreter's own enumeration of domains: isl is called once per loop; what runs after that
/// is integer arithmetic on its constraints.
namespace moonloop::interp {

/// constant + sum of factor * *slot.
struct Affine {
  std::int64_t constant = 0;
  std::vector<Subscript::Term> terms;
  std::int64_t get() const {
    std::int64_t v = constant;
    for (const Subscript::Term& t : terms) v += t.factor * *t.slot;
    return v;
  }
};

/// Values x with factor*x + rest >= 0: a bound. factor is not zero.
struct Bound {
  std::int64_t factor;
  Affine rest;
};

/// A basic set, prepared for tests whether the present point is in it.
struct Membership {
  struct Div {  // an integer floor(numerator / denominator)
    std::unique_ptr<std::int64_t> slot;
    Affine numerator;
    std::int64_t denominator;
  };
  std::vector<Div> divs;  // each may use those before it
  std::vector<Affine> zero, not_negative;
  bool holds() const;
};

/// The range of one loop variable for given outer ones.
struct Range {
  /// Per disjunct: those values are within all its bounds.
  struct Piece {
    std::vector<Bound> lower, upper;
    std::vector<Affine> zero, not_negative;  // further conditions on the outer variables
  };
  std::vector<Piece> pieces;
  std::vector<Membership> exact;  // when not empty: a value counts only if one of them holds

  /// Calls `body` for each value in ascending order, with `*slot` set, as long as it returns true.
  template <class F>
  void for_each(std::int64_t* slot, F body) const {
    std::int64_t first, last;
    if (!hull(first, last)) return;
    for (std::int64_t x = first; x <= last; ++x) {
      *slot = x;
      if ((exact.empty() || holds()) && !body()) return;
    }
  }
  bool hull(std::int64_t& first, std::int64_t& last) const;
  bool holds() const;
};

/// Finds the variable or the parameter of a name; null when it has none.
using FindSlot = std::function<const std::int64_t*(const std::string&)>;

/// The range of the last dimension of `points`, whose other dimensions and parameters have slots,
/// given that the others are in `known` (null: anything).
Range make_range(Set points, const Set& known, const FindSlot& find);

}  // namespace moonloop::interp
