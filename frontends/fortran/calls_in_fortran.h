#pragma once
#include <utility>

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Whether statements of the body are calls that stay calls and may read or change variables of
/// modules.
bool has_fortran(const Body& b);

/// The module that statements of the interface have to be in, and one of them.
std::pair<std::string, Span> module_of_fortran(const Body& b);

}  // namespace moonloop::fortran
