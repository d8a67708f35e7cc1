#pragma once
#include <string>

#include "frontends/fortran/program.h"

/// Statements that end the program, in routines whose bodies go elsewhere.
namespace moonloop::fortran {

bool may_stop(const Body& b);

/// A new variable of `f` that says whether the program has ended in it.
std::string say_where_stopped(Routine& f);

}  // namespace moonloop::fortran
