#pragma once
#include <optional>
#include <string>

#include "core/expr/expr.h"

/// Expressions that occur only as arguments of external functions (core/model/external.h).
namespace moonloop {

/// A constant of characters.
Expr text_literal(const std::string& text, Span at = {});
/// Its text; nothing for other expressions.
std::optional<std::string> as_text(const Expr& e);

/// `letters(a, b, ...)`: a text of characters with these codes; of one variable alone it is that
/// variable's address.
Expr letters(Exprs codes, Span at = {});
/// The codes of that; null for other expressions.
const Exprs* as_letters(const Expr& e);

/// `length(n)`: what is before, the address of letters, is a text of so many.
Expr text_length(const Expr& n, Span at = {});
/// That number; null for other expressions.
const Expr* as_text_length(const Expr& e);

/// `address(a[i, ...])`; without subscripts `address(a)`. Its arguments are the array's bare name
/// and the subscripts, so that rewriting of elements leaves it alone.
Expr address(const std::string& array, const Exprs& index = {}, Span at = {});
/// `knows(a)`: nothing is passed, but the function knows the array from elsewhere.
Expr knows(const std::string& array, Span at = {});
/// The arguments of either; null for other expressions.
const Exprs* as_address(const Expr& e);
bool is_known(const Expr& e);

}  // namespace moonloop
