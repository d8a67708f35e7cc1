#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fortran_box.h"
#include "core/base/fortran_team.h"
#include "core/model/kernel.h"

namespace moonloop {

/// A Fortran file: its subroutines as kernels, in order, and the transforms in its comments.
struct FortranFile {
  std::vector<Kernel> kernels;
  /// Lua, of directives and of transform blocks in the file's order, with lines as in its file.
  struct Transform {
    const Source* source;
    std::string code;
    std::string kernel;      // that it is about: of a directive, or `auto`; empty: a block's
    bool automatic = false;  // of `auto`: the schedule that lp.auto chooses for the target
  };
  std::vector<Transform> transforms;
  /// Program units that are not kernels, and why.
  struct LeftOut {
    std::string name;
    Span at;
    std::vector<Diagnostic> why;
    bool is_program = false;  // a main program, which nobody takes for a routine
  };
  std::vector<LeftOut> left_out;
  /// Where a routine is, and what a caller sees of it: a replacement has to be the same, and to
  /// have the modules of the file.
  struct Lines {
    int first = 0, last = 0;
  };
  struct Home {
    std::string module;                // that it is in; empty: in none
    std::set<std::string> submodules;  // of that one, one in another, that it is in
    /// A module says what its arguments are, and this name of its result, if any.
    std::optional<std::string> separate;
    const Source* source = nullptr;
    bool fixed = false;          // the form of `source`
    Lines around, routine;       // the module's, its own
    std::vector<Lines> modules;  // all of them
    /// Lines of the input's file at which it, or what it includes there, names arrays that stay on
    /// a device, outside of modules' declarations.
    std::vector<int> residency;
    bool program = false;  // it is in a main program: then `modules` is all of the file
    bool pure = false, elemental = false, recursive = false;
    FortranTeam team;
    std::set<std::string> values;                // arguments that have the attribute `value`
    std::map<std::string, std::string> intents;  // of arguments that have one, as declared
    std::map<std::string, FortranBox> boxes;     // by the arguments that have their addresses
    std::string alternate;                       // the argument that says which label is next, and
    std::vector<int> alternates;                 // how many of the routine's are before each label
    std::vector<std::string> outputs;            // routines in Fortran that do statements for it
    std::vector<std::string> outputs_inside;     // and those that have to be where it is
    /// Pointers to these in the interface's module, and where they point to.
    std::vector<std::pair<std::string, std::string>> pointers;
    std::vector<std::string> entries;  // of a subprogram with `entry`: the names of all
    std::optional<std::string> bound;  // what C calls it, for `bind(c)`; empty: nothing
    /// Whether it knows all names of a module or submodule.
    bool is_in(const std::string& name) const {
      return name == module || submodules.count(name) > 0;
    }
  };
  std::map<std::string, Home> homes;  // by routine
  /// About units that are left out, directives that have no effect, and calls that stay.
  struct Warning {
    std::string routine;
    Diagnostic what;
  };
  std::vector<Warning> warnings;
};

/// What becomes of directives of OpenMP and OpenACC: steps that are proved, steps that are trusted
/// where that needs no proof, or nothing.
enum class FortranDirectives { Check, Use, Ignore };

struct FortranProject;  // frontends/fortran/project.h

/// How a file is read.
struct FortranOptions {
  /// Routines that are asked for by name: without a kernel in the file, the errors are theirs.
  std::set<std::string> wanted;
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_folders;   // besides the file's own
  bool skip_output = false;                   // `print` and `write` are left out, else refused
  int default_real = 4, default_integer = 4;  // bytes of `real` and `integer` without a kind
  int default_double = 8;                     // of `double precision`; 16: no kernel has it
  FortranDirectives directives = FortranDirectives::Check;
  /// Whether lines that begin with `!$` count; none: nobody says so, and they do not.
  std::optional<bool> openmp;
  bool lanes = true;                              // `simd` loops are lanes, each with a sum
  std::optional<bool> fixed_form;                 // none: as the path's ending says
  int fixed_columns = 72;                         // of a line in fixed form
  bool backslash = false;                         // it begins an escape in characters, as in C
  std::vector<std::string> module_files;          // that are searched for modules first, in order
  std::shared_ptr<const FortranProject> project;  // the files of which are searched then
};

/// Whether a path ends as a Fortran file's does: .f90, .f95, .f03, .f08 in free form, .f, .for,
/// .ftn in fixed form, and these with a capital F, which means that they are preprocessed.
bool is_fortran(const std::string& path);
bool is_fixed_form(const std::string& path, const FortranOptions& how);
bool is_preprocessed(const std::string& path);

/// Reads a file with Flang. Modules that it uses and does not have are looked for in the files that
/// `options` names, those next to it, and those in the folders of included files. Fails `fortran`
/// with all that Flang reports, each at its line; and `unsupported`, with the reasons, where no
/// routine can be a kernel.
FortranFile parse_fortran(const Source* source, const FortranOptions& options = {});

/// A program unit of a file, and why it is not a kernel; nothing where it is one.
struct FortranImport {
  std::string name;
  Span at;
  std::vector<Diagnostic> why;
  std::shared_ptr<const Kernel> kernel = {};
  std::vector<FortranFile::Transform> directives = {};  // their steps, which may be refused
};
/// All units of a file, in order. Fails as parse_fortran does where Flang finds errors.
std::vector<FortranImport> fortran_imports(const Source* source,
                                           const FortranOptions& options = {});

}  // namespace moonloop
