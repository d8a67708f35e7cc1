#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Whether the expression, which may be null, names the variable.
bool mentions(const Expr& e, const std::string& name);
/// How many expressions and loops in the statements name the variable.
std::size_t mentions(const Body& body, const std::string& name);
std::size_t mentions(const Statement& s, const std::string& name);

/// What a body does with a scalar.
struct ScalarFlow {
  bool used_unset = false;  // some path may use it before it sets it
  bool set = false;         // all paths have set it at the end
};
/// `set`: whether it has a value at the beginning. `promised`: it is private, so that a call that
/// may change it, or a part of it, does so before it reads it. Cost: linear.
ScalarFlow flow_of(const Body& body, const std::string& name, bool set = false,
                   bool promised = false);
/// Whether all paths set the scalar before they use it.
inline bool is_set_before_use(const Body& body, const std::string& name) {
  return !flow_of(body, name).used_unset;
}

}  // namespace moonloop::fortran
