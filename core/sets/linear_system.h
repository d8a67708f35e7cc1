#pragma once
#include <optional>
#include <vector>

#include "core/sets/isl.h"
#include "core/sets/quasi_polynomial.h"

/// Sets of integer points as plain rows of numbers, which core/count/count_set counts.
namespace moonloop {

/// Rows over columns: the variables, then the values that are fixed while they run, then the
/// constant. Points of the set and solutions of the system are one to one.
struct LinearSystem {
  std::size_t variables = 0;
  std::vector<std::size_t> open;  // the variables that are not eliminated; no row has others
  std::vector<Aff> fixed;         // parameters, and floors of what is before them
  std::vector<Row> zero, not_negative;
  Set context;  // further conditions on parameters, a parameter set

  std::size_t constant() const { return variables + fixed.size(); }
};

/// The system of a basic set whose existential variables are all known divisions. Such a variable
/// is fixed when its dividend is; else it counts as a variable: it has one value per point.
LinearSystem system_of(const BasicSet& b);

/// An equivalent system with fewer variables, where that takes no cases: nothing when it has no
/// solutions.
///
///  * Equalities go. One of several variables first gets a single one by Euclid's algorithm, as a
///    change of variables that keeps integer points.
///  * Tiles come together: where `v` has `m` values and occurs with `u` as `m*u + v` everywhere
///    else, one variable takes the place of both, whatever the bounds of the sum.
///  * A variable that is a quotient of others goes, its bounds become theirs.
std::optional<LinearSystem> reduced(LinearSystem s);

/// Rows without those that the others imply over the rationals, with the equalities that they
/// imply; nothing when there are no points.
struct RowSystem {
  std::vector<Row> zero, not_negative;
};
std::optional<RowSystem> without_redundant(const RowSystem& rows, std::size_t columns);

/// The parameters for which the rows, over only fixed columns, hold.
Set parameters_where(const LinearSystem& s, const RowSystem& rows);
/// A row over fixed columns as a function of the parameters.
Aff on_parameters(const LinearSystem& s, const Row& row);

}  // namespace moonloop
