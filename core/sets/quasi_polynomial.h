#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "core/sets/isl.h"

/// Quasi-polynomials: polynomials with rational coefficients in integer variables and in floors of
/// affine forms of these.
namespace moonloop {

using QPolynomial = Owner<isl_qpolynomial, isl_qpolynomial_copy, isl_qpolynomial_free>;

/// An affine form with integer coefficients over numbered columns, the constant last.
using Row = std::vector<std::int64_t>;

/// The counting of one set has become too large: numbers beyond 64 bits, or too many cases.
struct TooHard {};

/// x*a + y*b, both of one length; throws TooHard.
Row combine(std::int64_t x, const Row& a, std::int64_t y, const Row& b);
std::int64_t checked_mul(std::int64_t a, std::int64_t b);  // throws TooHard

/// floor(numerator / denominator). In normal form coefficients of the numerator lie in [0,
/// denominator), they and the denominator have no common divisor, and a denominator of 1 leaves
/// only one column: equal functions have equal normal forms, but for identities among several
/// floors.
struct Floor {
  Row numerator;
  std::int64_t denominator = 1;
  auto operator<=>(const Floor&) const = default;
};

/// A sum of coefficients times monomials, over a fixed number of columns.
class QuasiPolynomial {
 public:
  using Monomial = std::map<Floor, int>;  // exponents, at least 1
  QuasiPolynomial() = default;            // zero
  explicit QuasiPolynomial(const Val& constant);
  explicit QuasiPolynomial(std::int64_t constant);
  /// floor(numerator / denominator), denominator at least 1.
  QuasiPolynomial(Row numerator, std::int64_t denominator);

  QuasiPolynomial operator+(const QuasiPolynomial& o) const;
  QuasiPolynomial operator-(const QuasiPolynomial& o) const;
  QuasiPolynomial operator*(const QuasiPolynomial& o) const;
  QuasiPolynomial times(const Val& factor) const;
  bool is_zero() const { return terms_.empty(); }
  const std::map<Monomial, Val>& terms() const { return terms_; }

  /// The least common multiple of the denominators of the floors with this column: where the column
  /// increases by it, each of them increases by an integer. 1 when none has the column.
  std::int64_t period(std::size_t column) const;
  /// `row` in place of the column; it may contain the column itself.
  QuasiPolynomial substitute(std::size_t column, const Row& row) const;
  /// Coefficients of powers of a column that is in no floor, from power 0 on.
  std::vector<QuasiPolynomial> powers(std::size_t column) const;

 private:
  void add(const Monomial& m, const Val& coefficient);
  std::map<Monomial, Val> terms_;
};

/// The sum of `p` over the column's values from `low` to `high`, neither of which has the column,
/// nor have the floors of `p`. Zero for `high == low - 1`; undefined for smaller `high`. By
/// Faulhaber's formula: sums of powers as polynomials, with Bernoulli's numbers as coefficients.
/// (D. E. Knuth, "Johann Faulhaber and sums of powers", Mathematics of Computation 61, 1993.)
QuasiPolynomial sum_over(const QuasiPolynomial& p, std::size_t column, const QuasiPolynomial& low,
                         const QuasiPolynomial& high);

}  // namespace moonloop
