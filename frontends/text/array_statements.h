#pragma once
#include "frontends/text/syntax.h"

namespace moonloop::text {

/// Puts loops over elements in the place of statements on arrays (docs/language.md, "Statements on
/// arrays"):
///
///     c[1:n-1] = 0.5*(a[:n-2] + a[2:])      becomes      c[i0] = 0.5*(a[i0 - 1] + a[i0 + 1])
///
/// with `1 <= i0 < n - 1`. The right side counts as computed before anything is stored: where a
/// loop in either direction would read what it has stored, the values go through a temporary.
/// Statements that follow one another share loops where each element is still computed before it
/// is read, and read before it is overwritten. A reduction that does not depend on all loops around
/// it is computed before these.
/// Cost: for each pair of accesses to one array in statements that may share loops, some of isl's
/// operations.
void expand_array_statements(KernelText& k, Errors& errors);

}  // namespace moonloop::text
