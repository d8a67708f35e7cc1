#pragma once
#include <functional>
#include <optional>

#include "core/expr/expr.h"

namespace moonloop {

/// What replaces a reduction, or nothing where it is to stay. `conditions`: under which its value
/// is needed, in an arm of a choice or behind a term of `and` or `or`.
using InPlaceOfReduction =
    std::function<std::optional<Expr>(const Reduce&, const Span&, const Exprs& conditions)>;

/// What replaces the first terms of a sum where these, at least two, are sums over loops.
using InPlaceOfSums =
    std::function<std::optional<Expr>(const Exprs& sums, const Span&, const Exprs& conditions)>;

/// `e` with reductions replaced, from the outside in: those inside of another one stay in its term.
/// Sums that are added first are offered to `together` before each of them is to `f`.
Expr replace_reductions(const Expr& e, const InPlaceOfReduction& f,
                        const InPlaceOfSums& together = {});

}  // namespace moonloop
