#pragma once
#include "frontends/fortran/program.h"

// Calls of the input's routines that stay, as those of other files do.
namespace moonloop::fortran {

/// Puts conversions to their types around the values of functions that are called `outside`, as
/// those of other files have them.
void type_functions(Body& body, const std::set<std::string>& outside,
                    const std::vector<Routine>& all);
/// Whether all calls of a routine can be made in Fortran.
bool has_other_way(const Body& b, const std::string& name);

}  // namespace moonloop::fortran
