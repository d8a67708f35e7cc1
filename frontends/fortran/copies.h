#pragma once
#include "frontends/fortran/output.h"

namespace moonloop::fortran {

/// Whether the caller in Fortran passes a copy of an outer variable, and stores it afterwards: of a
/// component of each element of an array.
bool is_passed_as_copy(const Variable& v);
/// Gives the variable the values of its copy, the only argument, or, with `back`, the copy the
/// variable's: for what accesses it by its name. Fails `unsupported` for letters.
Output exchange_of(const Variable& v, const Routine& r, bool back, const Span& at);

}  // namespace moonloop::fortran
