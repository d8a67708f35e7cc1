#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Takes the assignments of these local variables out where nothing reads them, and the loops and
/// choices that have no other statements. Cost: linear in the statements for each variable that
/// others of them need.
void drop_unread(const std::set<std::string>& variables, Routine& routine);

}  // namespace moonloop::fortran
