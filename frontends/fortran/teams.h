#pragma once
#include <vector>

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// What routines ask of threads that call them, those that they call and begin no team for among
/// them. Without OpenMP, nothing: directives are comments for the compiler. Where `how` says that
/// OpenMP is on, a routine with what one thread of such a team does is no kernel.
void settle_teams(const FortranOptions& how, std::vector<Routine>& routines);

}  // namespace moonloop::fortran
