#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/expr/expr.h"

/// Choices among integers, such as chunk_iname writes for the starts of a loop's pieces, and the
/// sums that contain them.
namespace moonloop {

using Term = std::pair<std::int64_t, Expr>;

/// The terms of a sum as index_add() writes it, the constant with an empty expression.
std::vector<Term> terms_of(const Expr& e);
Expr sum_of(const std::vector<Term>& terms);

/// `values[0] if conditions[0] else values[1] if ... else values.back()`.
struct Choice {
  Exprs conditions, values;

  static Choice of(const Expr& select);
  Expr expr() const;
  /// The names in the conditions.
  std::set<std::string> chosen_by() const;
  bool of_numbers() const;
};

/// The expression that the conditions of a choice compare with one literal each; nothing if none.
struct ChoiceNumbers {
  Expr number;
  std::vector<std::int64_t> values;
};
std::optional<ChoiceNumbers> numbers_of(const Choice& choice);

/// Flattens sums, and moves out of a choice what its values have in common: the first value, and a
/// common factor of the differences from it.
Expr normal_sums(const Expr& e);

/// The loop whose pieces begin at some values, the longer ones first and at most one iteration
/// longer, as chunk_iname cuts it.
struct EvenPieces {
  Expr iterations;  // their number; for literal values, the largest possible
  std::int64_t stride = 1;
};
/// Nothing where the pieces are others. Linear in their number, without isl.
std::optional<EvenPieces> even_pieces(const Exprs& starts);

}  // namespace moonloop
