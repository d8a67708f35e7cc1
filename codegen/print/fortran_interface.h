#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "core/base/fortran_box.h"
#include "core/base/fortran_team.h"

namespace moonloop {

/// How an existing Fortran program calls a function that was generated for `c`, `openmp` or, with
/// `GenerateOptions::host_arrays`, `cuda`.
struct FortranInterface {
  /// A module with a `bind(c)` interface. It comes before `routine`.
  std::string module;
  /// A subroutine of the kernel's name, or a function where the kernel was one, with the kernel's
  /// arguments, by reference, in the declared order: it belongs where the routine was.
  std::string routine;
  /// Routines that the C function calls: they are in no module.
  std::string after;
  /// A function in C, to be put after the generated one; the interface calls it, since Fortran
  /// wants a binding label that is not another global name. Empty for CUDA, whose code has one.
  std::string c;
};

/// What a caller sees of the routine besides its arguments' types, and the module that it is in, if
/// any.
struct AroundRoutine {
  std::string module;
  std::set<std::string> submodules;  // and those of them that it is in
  /// In a submodule: the module has its interface, and this name of the result, if any.
  std::optional<std::string> separate;
  bool contained = false;  // in a module, a main program or a routine: it knows what is beside it
  bool pure = false, elemental = false, recursive = false;
  std::set<std::string> values;             // arguments with the attribute `value`
  std::map<std::string, FortranBox> boxes;  // by the arguments that have their addresses
  std::string alternate;                    // the argument that says which of the caller's labels
  std::vector<int> alternates;              // is next: how many arguments are before each of these
  bool as_declared = false;                 // a routine in Fortran declares its arguments:
  std::set<std::string> undeclared;         // those without an intent
  std::map<std::string, std::string> intents;  // of others, as declared
  std::set<std::string> assumed_size;          // and arrays whose last axis has no length
  std::vector<std::string> outputs;            // routines in Fortran that do statements for it
  std::vector<std::string> outputs_inside;     // and those that have to be where it is
  /// Pointers in the interface's module to routines without arguments that need an interface, by
  /// which others find them, and what each points to when the routine begins.
  std::vector<std::pair<std::string, std::string>> pointers;
  FortranTeam team;
  std::optional<std::string> bound;  // what C calls it, for `bind(c)`; empty: nothing
};

/// `kernel`: its name, which Fortran uses even where C's function has another one. Fails
/// `unsupported` for other targets, for records and float16, and for names that Fortran cannot
/// distinguish or does not allow.
FortranInterface fortran_interface(const Program& program, const std::string& kernel,
                                   const AroundRoutine& around = {});

}  // namespace moonloop
