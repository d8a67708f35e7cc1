#include "frontends/fortran/output.h"

#include "core/base/diagnostic.h"
#include "core/model/external.h"

// Routines of the interface for statements that stay Fortran.
namespace moonloop::fortran {
namespace {

/// The names of the arguments, and their declarations.
std::pair<std::string, std::string> arguments_of(const Output& o) {
  std::string names, declarations;
  for (const std::string& d : o.declarations) {
    const std::size_t begin = d.find(":: ") + 3;
    names += (names.empty() ? "" : ", ") + d.substr(begin, d.find('(', begin) - begin);
    declarations += "  " + d + "\n";
  }
  return {names, declarations};
}

std::string routine(const std::string& prefix, const std::string& name, const std::string& names,
                    const std::string& bound, const std::string& uses,
                    const std::string& declarations, const std::string& statement) {
  return fmt::format("{}subroutine {}({}){}\n{}  implicit none\n{}  {}\nend subroutine\n", prefix,
                     name, names, bound, uses, declarations, statement);
}

}  // namespace

OutputRoutines routines_for(const Output& o, const Routine& r, std::size_t number, const Span& at) {
  const bool in_program = o.module == kProgram;
  if (!o.module.empty() && (in_program ? !r.home.program : !r.home.is_in(o.module)))
    fail("unsupported", at,
         "`{}` with {} in a routine outside of it is not supported in Fortran kernels", o.what,
         in_program ? "names of a main program"
                    : fmt::format("private names of the module `{}`", o.module));
  const auto name = [&](const char* end) {
    return fortran_name(o.what + "_in_", r.name, fmt::format("_{}{}", number, end));
  };
  const std::string uses = fmt::format("{}", fmt::join(o.uses, ""));
  const auto [names, declarations] = arguments_of(o);
  const std::string prefix = r.home.recursive ? "recursive " : "";
  OutputRoutines out;
  out.name = name("");
  if (o.module.empty()) {
    out.anywhere = routine(prefix, out.name, names, "", uses, declarations, o.statement);
  } else if (!in_program) {
    const std::string bound = fmt::format(" bind(c, name=\"{}_\")", out.name);
    out.inside = routine(prefix, out.name, names, bound, uses, declarations, o.statement);
  } else {  // linkers know nothing within a main program
    const std::string inner = name("_inside"), pointer = name("_there");
    out.inside = routine(prefix, inner, names, "", uses, declarations, o.statement);
    const std::string module = fortran_name("", r.name, "_moonloop");
    out.anywhere =
        routine(prefix, out.name, names, "", "  use " + module + ", only: " + pointer + "\n",
                declarations, "call " + pointer + "(" + names + ")");
    out.pointer = {pointer, inner};
  }
  return out;
}

}  // namespace moonloop::fortran
