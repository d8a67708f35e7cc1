#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Whether the expression, which may be null, names the variable.
bool mentions(const Expr& e, const std::string& name);
/// How many expressions and loops in the statements name the variable.
std::size_t mentions(const Body& body, const std::string& name);

/// Whether all paths set the scalar before they use it. `set`: whether they have when the
/// statements begin, and then when they end. Cost: linear.
bool is_set_before_use(const Body& body, const std::string& name, bool& set);

}  // namespace moonloop::fortran
