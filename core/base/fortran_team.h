#pragma once
#include <string>
#include <vector>

#include "core/base/source.h"

namespace moonloop {

/// What a Fortran routine asks of the threads of OpenMP that call it, where their team begins in
/// another routine.
struct FortranTeam {
  /// All threads of the team call it, and share its work: `do`, `sections`, `single`, `barrier`
  /// outside of `parallel`.
  bool shares = false;
  Span at;  // where it does so first
  bool loops_alone = true;  // loops without reductions are all that they share
  bool updates = false;     // atomic updates, of what other routines update, too
  /// Critical sections by their names, in order: empty, the one without a name.
  std::vector<std::string> criticals;
};

}  // namespace moonloop
