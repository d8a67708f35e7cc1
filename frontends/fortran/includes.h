#pragma once
#include <string>
#include <string_view>

#include "core/base/source.h"
#include "frontends/fortran/fortran.h"

/// Lines that include files, by Fortran's `include` or the preprocessor's.
namespace moonloop::fortran {

/// The name of the file that a line includes; empty for other lines.
std::string included_by(std::string_view line);

/// The file that `by` includes under this name: one next to it, or in the folders of `how`. Null
/// where there is none, which Flang reports.
const Source* included_source(const Source* by, const std::string& name, const FortranOptions& how);

}  // namespace moonloop::fortran
