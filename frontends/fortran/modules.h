#pragma once
#include <string>
#include <vector>

#include "frontends/fortran/fortran.h"

namespace moonloop::fortran {

/// The files that have the modules which `source` uses and does not have itself, and those that
/// these use, each after those that it uses. They are looked for next to `source` and in the
/// folders of included files, by their text: a line that begins a module of the name. A module that
/// no file has is not looked for further; Flang may know it. Fails `fortran` for one that exists
/// only in another compiler's format. Cost: one pass over the Fortran files of these folders, none
/// where `source` has all its modules.
std::vector<std::string> files_of_modules(const Source* source, const FortranOptions& how);

}  // namespace moonloop::fortran
