#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.h"

namespace moonloop {

/// A Fortran file: its subroutines as kernels, in order, and the transforms in its comments.
struct FortranFile {
  std::vector<Kernel> kernels;
  /// Lua, of directives and of transform blocks in the file's order, with lines as in the file.
  std::vector<std::string> transforms;
};

/// How a file is read.
struct FortranOptions {
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_folders;  // besides the file's own
  bool skip_output = false;                  // `print` and `write` are left out, else refused
};

/// Whether a path ends as a Fortran file's does: .f90, .F90, .f, .F or .for.
bool is_fortran(const std::string& path);

/// Reads a file with Flang: free form where the name ends in `90`, else fixed form; preprocessed
/// where it ends in `F90` or `F`. Fails `fortran` with all that Flang reports,
/// `unsupported` for what no kernel can say, each at its line.
FortranFile parse_fortran(const Source* source, const FortranOptions& options = {});

}  // namespace moonloop
