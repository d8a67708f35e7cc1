#pragma once
#include <functional>
#include <optional>

#include "core/expr/expr.h"

namespace moonloop {

/// What replaces a reduction, or nothing where it is to stay. `conditions`: under which its value
/// is needed, in an arm of a choice or behind a term of `and` or `or`.
using InPlaceOfReduction =
    std::function<std::optional<Expr>(const Reduce&, const Span&, const Exprs& conditions)>;

/// `e` with reductions replaced, from the outside in: those inside of another one stay in its term.
Expr replace_reductions(const Expr& e, const InPlaceOfReduction& f);

}  // namespace moonloop
