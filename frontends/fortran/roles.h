#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// What an argument of the kernel is for a Fortran caller.
FortranArgument role_of(const Variable& v);
/// Whether the routine has an argument that says whether this one has memory.
bool is_asked_for_memory(const Routine& r, const std::string& name);

}  // namespace moonloop::fortran
