#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// The routine for calls that give, or do not give, these optional arguments: without the tests of
/// that, and without what would run in the other case.
void settle_presence(Routine& routine, const std::map<std::string, bool>& given);

}  // namespace moonloop::fortran
