#pragma once
#include <string>

#include "codegen/codegen.h"

namespace moonloop {

/// How an existing Fortran program calls a function that was generated for `c`, `openmp` or, with
/// `GenerateOptions::host_arrays`, `cuda`.
struct FortranInterface {
  /// A module with a `bind(c)` interface, and a subroutine of the kernel's name, or a function
  /// where the kernel was one, with the kernel's arguments, by reference, in the declared order.
  std::string fortran;
  /// A function in C, to stand behind the generated one: what the interface calls, since Fortran
  /// wants a binding label that is no other global name. Empty for CUDA, whose code has one.
  std::string c;
};

/// Fails `unsupported` for other targets, for
/// records and float16, and for names that Fortran cannot tell apart or does not have.
FortranInterface fortran_interface(const Program& p);

}  // namespace moonloop
