#include "frontends/fortran/output.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/external.h"

// Routines of the interface for statements that stay Fortran.
namespace moonloop::fortran {
namespace {

constexpr std::string_view kText = "character(*)";

struct Declared {
  std::string name, attributes,
      axes;  // of `type, attributes :: name(axes)`; `type` with the former

  explicit Declared(const std::string& declaration) {
    const std::size_t end = declaration.find(" :: "), begin = end + 4;
    const std::size_t paren = std::min(declaration.find('(', begin), declaration.size());
    attributes = declaration.substr(0, end);
    name = declaration.substr(begin, paren - begin);
    axes = declaration.substr(paren);
  }
  bool is_text() const { return attributes.starts_with(kText); }
  /// The same with another type than that of a text.
  std::string as(const std::string& type, const std::string& own_axes) const {
    return type + attributes.substr(kText.size()) + " :: " + name + own_axes;
  }
};

std::vector<Declared> arguments_of(const Output& o) {
  return {o.declarations.begin(), o.declarations.end()};
}

std::string names_of(const std::vector<Declared>& all) {
  std::vector<std::string> names;
  for (const Declared& d : all) names.push_back(d.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string lines(const std::vector<std::string>& declarations) {
  std::string out;
  for (const std::string& d : declarations) out += "  " + d + "\n";
  return out;
}

std::string routine(const std::string& prefix, const std::string& name, const std::string& names,
                    const std::string& bound, const std::string& uses,
                    const std::string& declarations, const std::string& statement) {
  return fmt::format("{}subroutine {}({}){}\n{}  implicit none\n{}  {}\nend subroutine\n", prefix,
                     name, names, bound, uses, declarations, statement);
}

/// A routine of a module, `name` for C, which gets texts as other compilers' routines do: their
/// letters, and their lengths after all arguments. Of a text as an argument of a routine for C,
/// Fortran expects a descriptor. `inner` is the routine of Fortran that it calls.
std::string routine_of_texts(const std::string& prefix, const std::string& name,
                             const std::string& inner, const std::string& bound,
                             const std::string& uses, const Output& o) {
  const std::vector<Declared> all = arguments_of(o);
  const auto is_free = [&](const std::string& n) {
    return std::none_of(all.begin(), all.end(), [&](const Declared& d) { return d.name == n; });
  };
  int number = 0;
  const auto new_name = [&](const std::string& base) {
    std::string out;
    do out = base + std::to_string(++number);
    while (!is_free(out));
    return out;
  };
  std::vector<std::string> for_c, with_lengths, lengths, given;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Declared& d = all[n];
    given.push_back(d.is_text() && d.axes.empty() ? d.name + "(1)" : d.name);
    if (!d.is_text()) {
      for (auto* out : {&for_c, &with_lengths}) out->push_back(o.declarations[n]);
      continue;
    }
    lengths.push_back(new_name("length_of_text"));
    for_c.push_back(d.as("character(1)", "(*)"));
    with_lengths.push_back(d.as("character(" + lengths.back() + ")", "(*)"));
  }
  for (const std::string& l : lengths) for_c.push_back("integer(8), value :: " + l);
  const std::string names = names_of(all), within = new_name("with_lengths");
  std::string out = routine(prefix, name, names + fmt::format(", {}", fmt::join(lengths, ", ")),
                            bound, uses, lines(for_c), "call " + within + "(" + names + ")");
  const std::string end = "end subroutine\n";
  out.erase(out.size() - end.size());
  return out + "contains\n" +
         routine(prefix, within, names, "", "", lines(with_lengths),
                 fmt::format("call {}({})", inner, fmt::join(given, ", "))) +
         end;
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
  const std::vector<Declared> arguments = arguments_of(o);
  const std::string names = names_of(arguments), declarations = lines(o.declarations);
  const std::string prefix = r.home.recursive ? "recursive " : "";
  OutputRoutines out;
  out.name = name("");
  if (o.module.empty()) {
    out.anywhere = routine(prefix, out.name, names, "", uses, declarations, o.statement);
  } else if (!in_program) {
    const std::string bound = fmt::format(" bind(c, name=\"{}_\")", out.name);
    const bool texts = std::any_of(arguments.begin(), arguments.end(),
                                   [](const Declared& d) { return d.is_text(); });
    const std::string inner = texts ? name("_inside") : out.name;
    out.inside = routine(prefix, inner, names, texts ? "" : bound, uses, declarations, o.statement);
    if (texts) out.inside += "\n" + routine_of_texts(prefix, out.name, inner, bound, uses, o);
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
