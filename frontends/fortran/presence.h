#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// The routine for calls that give, or do not give, these optional arguments: without the tests of
/// that, and without what would run in the other case.
void settle_presence(Routine& routine, const std::map<std::string, bool>& given);
/// The statements without arms of choices, and terms of conditions, that constants decide.
Body without_decided(const Body& body);

}  // namespace moonloop::fortran
