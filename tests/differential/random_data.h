#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// The parts of a random kernel's statements, for those whose instances depend on data.
struct Pieces {
  std::string type;                 // of values
  std::string id;                   // of the statement
  std::vector<std::string> around;  // loops around it, outer to inner
  std::string row, item;            // new inames: of a loop with computed bounds, of a short one
  /// An element of some array, a value, and a subscript within the arrays; `in_row` where `row` is
  /// a loop around them too.
  std::function<std::string(bool in_row)> element, value, subscript;
  std::function<std::string(const std::string&)> small;  // a sum, as a value
};

struct DataStatement {
  std::vector<std::string> domains, lines;
};

/// A statement whose loop has bounds from the array `cnt` (a row of a sparse matrix, with or
/// without an array of its own for each iteration, or a sum over it), or which runs, by itself or
/// as one of two branches, under a condition on `cnt`.
DataStatement data_statement(Random& random, const Pieces& p);

}  // namespace moonloop::differential
