#pragma once
#include <map>
#include <string>
#include <vector>

#include "frontends/fortran/fortran.h"

namespace moonloop::fortran {

/// The files that have the modules which `source` uses and does not have itself, and those that
/// these use, each after those that it uses. They are looked for in the files and the project that
/// `how` names, next to `source` and in the folders of included files, by their text: a line that
/// begins a module of the name. A module that no file has is not looked for further; Flang may know
/// it. Cost: one pass over the Fortran files of these, none where `source` has all its modules.
struct ModuleFiles {
  std::vector<std::string> paths;
  std::map<std::string, std::string> homes;     // the path of each module in them
  std::map<std::string, std::string> compiled;  // files in another compiler's format, by module
  bool header_of_mpi = false;  // no file has `mpi`, but a folder has its header, `mpif.h`
};
ModuleFiles files_of_modules(const Source* source, const FortranOptions& how);

/// How such a file is read: as its own compiler gets it, where the project says how, else as `how`
/// says of the source, in the form of its ending where that is another one.
FortranOptions options_elsewhere(const std::string& path, const std::string& source,
                                 const FortranOptions& how);

}  // namespace moonloop::fortran
