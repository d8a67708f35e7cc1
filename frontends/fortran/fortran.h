#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// A Fortran file: its subroutines as kernels, in order, and the transforms in its comments.
struct FortranFile {
  std::vector<Kernel> kernels;
  /// Lua, of directives and of transform blocks in the file's order, with lines as in its file.
  struct Transform {
    const Source* source;
    std::string code;
    std::string kernel;  // that it is about: of a directive; empty: a block's
  };
  std::vector<Transform> transforms;
  /// Program units that are not kernels, and why.
  struct LeftOut {
    std::string name;
    Span at;
    std::vector<Diagnostic> why;
  };
  std::vector<LeftOut> left_out;
  /// Where a routine is, and what a caller sees of it: a replacement has to be the same, and to
  /// have the modules of the file.
  struct Lines {
    int first = 0, last = 0;
  };
  struct Home {
    std::string module;  // that it is in; empty: in none
    const Source* source = nullptr;
    Lines around, routine;       // the module's, its own
    std::vector<Lines> modules;  // all of them
    bool program = false;        // it is in a main program: then `modules` is all of the file
    bool pure = false, elemental = false, recursive = false;
    std::set<std::string> values;      // arguments that have the attribute `value`
    std::vector<std::string> outputs;  // routines in Fortran that print for it
    std::optional<std::string> bound;  // what C calls it, for `bind(c)`; empty: nothing
  };
  std::map<std::string, Home> homes;  // by routine
  /// About units that are left out, and directives that have no effect.
  std::vector<Diagnostic> warnings;
};

/// What becomes of directives of OpenMP and OpenACC: steps that are proved, steps that are trusted
/// where that needs no proof, or nothing.
enum class FortranDirectives { Check, Use, Ignore };

/// How a file is read.
struct FortranOptions {
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_folders;   // besides the file's own
  bool skip_output = false;                   // `print` and `write` are left out, else refused
  int default_real = 4, default_integer = 4;  // bytes of `real` and `integer` without a kind
  FortranDirectives directives = FortranDirectives::Check;
};

/// Whether a path ends as a Fortran file's does: .f90, .F90, .f, .F or .for.
bool is_fortran(const std::string& path);

/// Reads a file with Flang: free form where the name ends in `90`, else fixed form; preprocessed
/// where it ends in `F90` or `F`. Modules that it uses and does not have are looked for in the
/// files next to it and in the folders of included files. Fails `fortran` with all that Flang
/// reports, each at its line; and `unsupported`, with the reasons, where no routine can be a
/// kernel.
FortranFile parse_fortran(const Source* source, const FortranOptions& options = {});

/// A program unit of a file, and why it is not a kernel; nothing where it is one.
struct FortranImport {
  std::string name;
  Span at;
  std::vector<Diagnostic> why;
};
/// All units of a file, in order. Fails as parse_fortran does where Flang finds errors.
std::vector<FortranImport> fortran_imports(const Source* source,
                                           const FortranOptions& options = {});

}  // namespace moonloop
