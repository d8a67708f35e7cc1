#pragma once
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

/// In the bounds of the routine's arrays, puts a variable of our own, whose `entry_of` is the
/// argument, in the place of each integer argument that is in `assigned` or may be given back.
void keep_entry_values(Routine& r, const std::set<std::string>& assigned);

/// That variable of an argument, which is made where there is none yet.
Expr value_at_entry(Routine& r, const std::string& name);

/// Once all calls are inlined: makes the variables arguments of the routine, or the arguments
/// themselves where nothing assigns these.
void settle_entry_values(Routine& r);

}  // namespace moonloop::fortran
