#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Makes a substitution rule of an expression and calls it wherever the expression occurs.
///
///     a[i] = 23*b[i]**2 + 25*b[i]**2     with the template `alpha*b[i]**2` becomes
///
///     bsquare(alpha) := alpha*b[i]**2
///     a[i] = bsquare(23) + bsquare(25)
///
/// Names of the template that are parameters stand for any expression, those that `k` knows for
/// themselves; others stand for an expression too, which must be the same everywhere.
/// core/expr/unify.h defines what matches. Matches do not nest. A tag on the replaced expression
/// goes to the call.
///
/// With `divisions`, the template is a reciprocal `1/d`, and `a/d` becomes a product with the rule,
/// which is rounded twice (Kernel::reciprocals).
///
/// Refuses  name-taken, bad-name   of the rule
///          bad-template           the template is a parameter alone, or lacks one; is no `1/d`
///          type-mismatch          a quotient and the reciprocal of its divisor differ in type
///          no-match               nothing matches
///          ambiguous-match        a name that is not a parameter stands for different expressions
Kernel extract_subst(const Kernel& k, const std::string& subst_name, const Expr& pattern,
                     const std::vector<std::string>& parameters = {}, const Match& within = {},
                     bool divisions = false);

}  // namespace moonloop
