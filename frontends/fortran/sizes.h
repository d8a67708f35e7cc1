#pragma once
#include <functional>
#include <set>
#include <string>

namespace moonloop::fortran {

struct Routine;

/// The bounds that `allocate` gives to variables of the routine's own have values at entry, which
/// is right where nothing changes these before: a scalar that is assigned once, by what stays as it
/// is, becomes that. The others, whose names are the result, have to be Fortran's. `calls_change`:
/// whether the routine's calls may change the variable.
std::set<std::string> settle_sizes(Routine& r,
                                   const std::function<bool(const std::string&)>& calls_change);

}  // namespace moonloop::fortran
