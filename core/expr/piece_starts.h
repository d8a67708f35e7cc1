#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/expr/expr.h"

/// Choices among integers, as chunk_iname writes where the pieces of a loop begin, and the sums
/// that they stand in.
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
  /// What the conditions read.
  std::set<std::string> chosen_by() const;
  bool of_numbers() const;
};

/// What the conditions of a choice compare with one literal each; nothing where they do not.
struct ChoiceNumbers {
  Expr number;
  std::vector<std::int64_t> values;
};
std::optional<ChoiceNumbers> numbers_of(const Choice& choice);

/// Sums flat, and what the values of a choice have in common outside of it: the first one, and a
/// factor of what they are apart from it.
Expr normal_sums(const Expr& e);

/// The loop whose pieces begin at some values, the longer ones first and at most one iteration
/// longer, as chunk_iname cuts it.
struct EvenPieces {
  Expr iterations;  // their number; of literal values, the most that it may be
  std::int64_t stride = 1;
};
/// Nothing where the pieces are others. Linear in their number, without isl.
std::optional<EvenPieces> even_pieces(const Exprs& starts);

}  // namespace moonloop
