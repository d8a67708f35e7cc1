#pragma once
#include <set>
#include <string>

namespace moonloop::fortran {

struct SubroutineCall;
struct Variable;

/// What a procedure of the input, and those that it calls, may do to variables of modules by their
/// names: `state::u`, with components `state::p%x`. What it does to its arguments is its caller's
/// to know.
struct Effects {
  std::set<std::string> names;         // it mentions them
  std::set<std::string> changes;       // it assigns them, or passes them to what may
  std::set<std::string> moves;         // it gives them other memory
  bool messages = false;               // it calls MPI, which may change any array
  bool follows = false, sets = false;  // it reads, and assigns, what pointers point at
};

/// Whether a call of a procedure with these effects may read or change, and may change, the outer
/// variable. Of variables that are not in modules, it may do all.
bool may_access(const Effects& e, const Variable& outer);
bool may_change(const Effects& e, const Variable& outer);
/// Whether a call may give the outer variable other memory. `passed`: it is also an argument, which
/// keeps its memory where nothing is known of the callee.
bool may_move(const SubroutineCall& call, const Variable& outer, bool passed);
/// Whether a call may read or change the outer variable.
bool may_access(const SubroutineCall& call, const Variable& outer);

}  // namespace moonloop::fortran
