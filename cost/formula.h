#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/expr/evaluate.h"

/// Times in closed form: sums of counts, by cases, that can be written into generated code.
namespace moonloop::cost {

/// The value of an expression of integers, in doubles, so that nothing overflows: sums, products,
/// powers, quotients and remainders rounded down, choices by comparisons, `min` and `max`. Nothing
/// for other expressions, and for names without a value.
std::optional<double> real_value(const Expr& e, const Integers& values);
/// The same expression in C, of doubles; names that C or CUDA has are as unreserved() gives them.
/// Of all the expressions that real_value() takes.
std::string real_text(const Expr& e);

/// A tree of cases with a sum in each.
struct Formula {
  struct Term {
    double factor = 0;
    Expr count;
  };
  struct Node {
    std::vector<Term> sum;               // where there are no cases
    Expr quantity;                       // else: null in a sum
    double limit = 0;                    // up to this, inclusive
    std::size_t within = 0, beyond = 0;  // nodes
  };
  std::vector<Node> nodes;  // the first is the root

  double at(const Integers& values) const;
  /// Statements of C that return the value.
  std::string c_body() const;
};

}  // namespace moonloop::cost
