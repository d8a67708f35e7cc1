#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// A statement that the Fortran side of the interface does in a routine of its own, and the
/// declarations of the names in it: `a1`, `a2` and so on for values.
struct Output {
  std::string what = "write";             // the statement, in the name of its routine
  std::vector<std::string> declarations;  // `type, intent(in) :: name(shape)`, of the arguments
  std::string statement;
  std::set<std::size_t> changes;  // arguments that it may change, by their numbers
  std::set<std::string> uses;     // lines like `use state, only: x`
  std::string module;             // whose private names it has, so that it has to be in it, or
                                  // kProgram
  bool calls = false;             // it may change what routines of other files may
  /// Variables of modules, and of a main program, by `state::p`, with components `state::p%x`:
  /// those that it accesses by their names, and those to which it gives other memory.
  std::set<std::string> accesses, moves;
};

/// Instead of a module's name: the names are a main program's.
inline constexpr const char* kProgram = "the main program";

/// Texts of Fortran that together do a statement for C.
struct OutputRoutines {
  std::string name;      // of what C calls, without what linkers add
  std::string anywhere;  // a routine in no module; empty: C calls the one inside
  std::string inside;    // one that has to be where the names of the statement are
  /// A pointer in the interface's module by which `anywhere` finds `inside`, and the latter's name.
  std::optional<std::pair<std::string, std::string>> pointer;
};
/// `number`: of the statement in the routine, from 1. Fails `unsupported` where the names are out
/// of its reach.
OutputRoutines routines_for(const Output& o, const Routine& r, std::size_t number, const Span& at);

/// An outer variable, or an argument of ours about one, as above; empty for others.
std::string outer_path(const Variable& v);
/// Whether one is the other, or a component of it.
bool overlaps(const std::set<std::string>& paths, const std::string& path);

}  // namespace moonloop::fortran
