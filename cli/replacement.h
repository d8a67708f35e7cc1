#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "codegen/print/fortran_interface.h"
#include "frontends/fortran/fortran.h"

/// Routines of Fortran files and what takes their places.
namespace moonloop::cli {

/// A routine that is replaced, and what by.
struct Replaced {
  const FortranFile::Home* home;  // null: it is in no file
  FortranInterface by;
};

/// What the host's code does in the places of lines `resident` and `update`, by line.
using HostCalls = std::map<int, std::string>;
/// Those of a file outside of the declarations of modules; a line that includes such has them in
/// the text that it includes. Fails as residency_lines().
HostCalls host_calls(const Source* source, const FortranOptions& how);
/// A file with the calls in their places.
std::string text_with(const Source* source, const HostCalls& calls);

/// The code of several kernels, and how Fortran calls each of them.
struct Replacement {
  std::string code, header;        // one unit of C; the header is that of the last kernel
  std::vector<std::string> names;  // of the C functions
  std::vector<Replaced> routines;  // empty without interfaces
  std::vector<Diagnostic> warnings;
};

/// `options` for each of them, but for `host_arrays`, which go with interfaces, and for what lines
/// `resident` of the files ask for. Fails as generate()
/// and fortran_interface() do.
Replacement replace_routines(const std::vector<Kernel>& kernels, const FortranFile& file,
                             Target target, bool interfaces, GenerateOptions options = {});

/// Names for the linker that only the code and its interfaces have for each other: patterns for
/// `objcopy --wildcard`. Routines of one name in two modules would have them twice in a program.
std::vector<std::string> own_labels(const Replacement& r);

/// The interface of all kernels, for the file `to`: with the modules that the routines are in, or
/// all of the file of their main program. Fails `unsupported` where `to` has to have another name.
std::string interface_file(const std::vector<Replaced>& all, const std::vector<Kernel>& kernels,
                           const Common& common, const std::string& to);

/// All of the file in free form that the routines are in, with the calls in their places.
std::string file_of(const std::vector<Replaced>& all, const HostCalls& calls);

/// The same of a file in fixed form, whose lines have this many columns, after what it uses, which
/// is in free form.
std::pair<std::string, std::string> files_of_fixed(const std::vector<Replaced>& all, int columns,
                                                   const HostCalls& calls);

}  // namespace moonloop::cli
