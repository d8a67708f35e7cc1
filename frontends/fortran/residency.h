#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/source.h"
#include "core/model/kernel.h"
#include "frontends/fortran/fortran.h"

/// Lines `!$moonloop resident: u, v` and `!$moonloop update`, about arrays that stay on a device.
namespace moonloop::fortran {

struct ResidencyLine {
  enum class Kind { Resident, Update } kind = Kind::Resident;
  Span at;
  int order = 0;                                    // as of a block
  std::vector<std::pair<std::string, Span>> names;  // in small letters, as `u` and `grid%u`
  std::string module;  // in whose declarations it stands; empty: elsewhere
};

/// Whether the text after a sentinel is such a line's.
bool is_residency(std::string_view text);

/// All such lines of a text and of the files that it includes, in order. Fails
/// `syntax` for a line that names nothing, and `unknown-variable` for one in a module's
/// declarations that names what these do not have. Cost: one pass.
std::vector<ResidencyLine> residency_lines(const Source* source, const FortranOptions& how,
                                           bool fixed);

/// Marks the arrays of a kernel that `line` names, one in the routine or in a module.
/// Fails `unknown-array` where a line in the routine names none of its arrays.
void mark_resident(Kernel& kernel, const ResidencyLine& line);

/// What the host's code does in the place of the line, one or more lines of Fortran.
std::string calls_of(const ResidencyLine& line, bool fixed);

}  // namespace moonloop::fortran
