#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/fortran/blocks.h"
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// A routine as a kernel in Fortran's order, the demands of its directives (Lua by line), and
/// routines in Fortran that do some of its statements.
struct Lowered {
  Kernel kernel;
  std::vector<std::pair<int, std::string>> steps;
  std::vector<std::string> outputs, outputs_inside;           // anywhere, and where the routine is
  std::vector<std::pair<std::string, std::string>> pointers;  // of these, as in OutputRoutines
  /// What loops call in each iteration that Fortran does, but for input and output.
  std::vector<Span> calls_in_loops;
};
/// `callees`: kernels, by name, for those routines that are called as such.
Lowered lower(const Routine& routine, const Blocks& blocks, const FortranOptions& options,
              const std::map<std::string, std::shared_ptr<const CalledKernel>>& callees);

}  // namespace moonloop::fortran
