#pragma once
#include <set>
#include <string>

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Puts what components begin with, from the routine's default `first` on, before the statements of
/// the scope where they are declared; with `all` also of those that these do not name.
void set_defaults(Routine& routine, std::size_t first, bool all, Body& body);
/// All names in a routine's expressions.
std::set<std::string> names_in(const Routine& r);
std::set<std::string> names_in(const Body& body);

}  // namespace moonloop::fortran
