#pragma once
#include <set>
#include <string>

#include "codegen/codegen.h"

namespace moonloop {

/// How an existing Fortran program calls a function that was generated for `c`, `openmp` or, with
/// `GenerateOptions::host_arrays`, `cuda`.
struct FortranInterface {
  /// A module with a `bind(c)` interface, and a subroutine of the kernel's name, or a function
  /// where the kernel was one, with the kernel's arguments, by reference, in the declared order;
  /// for a routine of a module within that module, whose other routines stay as they are, next to
  /// the other modules of its file.
  std::string fortran;
  /// A function in C, to be put after the generated one; the interface calls it, since Fortran
  /// wants a binding label that is not another global name. Empty for CUDA, whose code has one.
  std::string c;
};

/// The module that the routine was in, if any, the text of the file's modules before and after it,
/// and what a caller sees besides its arguments' types.
struct AroundRoutine {
  std::string module, before, after;
  bool pure = false, elemental = false, recursive = false;
  std::set<std::string> values;  // arguments with the attribute `value`
};

/// `kernel`: its name, which Fortran uses even where C's function has another one. Fails
/// `unsupported` for other targets, for records and float16, and for names that Fortran cannot
/// distinguish or does not allow.
FortranInterface fortran_interface(const Program& program, const std::string& kernel,
                                   const AroundRoutine& around = {});

}  // namespace moonloop
