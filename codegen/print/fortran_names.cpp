#include "codegen/print/fortran_names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "codegen/reserved.h"
#include "core/base/diagnostic.h"

namespace moonloop::fortran_side {
namespace {

/// A variable that the routine sees by its own name, as it is around it.
bool is_around(const Called& p, const Parameter& a) {
  if (!a.fortran.outer) return false;
  const FortranOuter& o = *a.fortran.outer;
  return o.kind == FortranOuter::Kind::Program ||
         (o.kind == FortranOuter::Kind::Module && is_host(p, o.module));
}

}  // namespace

std::string integer_kind(const Type& t) { return fmt::format("c_int{}_t", 8 * t.size()); }

std::string fortran_type(const Called& p, const Parameter& a) {
  const auto unsupported = [&] {
    fail("unsupported", a.at,
         "`{}`: `{}` of type {} has no counterpart in Fortran's interface to C", p.kernel, a.name,
         a.type.str());
  };
  if (a.type.is_record()) unsupported();
  if (a.fortran.text || a.fortran.role == FortranRole::Character) return "character(c_char)";
  if (a.fortran.logical) return fmt::format("logical({})", a.type.size());
  switch (a.type.scalar) {
    case Scalar::Bool: return "logical(c_bool)";
    case Scalar::I8:
    case Scalar::U8: return "integer(c_int8_t)";
    case Scalar::I16:
    case Scalar::U16: return "integer(c_int16_t)";
    case Scalar::I32:
    case Scalar::U32: return "integer(c_int32_t)";
    case Scalar::I64:
    case Scalar::U64: return "integer(c_int64_t)";
    case Scalar::F16: unsupported(); break;
    case Scalar::F32: return "real(c_float)";
    case Scalar::F64: return "real(c_double)";
    case Scalar::C64: return "complex(c_float_complex)";
    case Scalar::C128: return "complex(c_double_complex)";
  }
  return "";
}

std::string lower_case(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

const FortranBox* box_of(const Called& p, const Parameter& a) {
  const auto it = p.around.boxes.find(a.name);
  return it == p.around.boxes.end() ? nullptr : &it->second;
}

bool is_part_of_boxed(const Called& p, const Parameter& a) {
  const auto& c = a.fortran.component;
  return c && !a.fortran.outer &&
         std::any_of(p.around.boxes.begin(), p.around.boxes.end(),
                     [&](const auto& b) { return b.second.name == c->of; });
}

bool is_alternate(const Called& p, const Parameter& a) {
  return !p.around.alternates.empty() && a.name == p.around.alternate;
}

bool is_host(const Called& p, const std::string& module) {
  return module == p.around.module || p.around.submodules.count(module) > 0;
}

std::string module_of(const Called& p) { return fortran_name("", p.kernel, "_moonloop"); }
std::string extent_name(const Called& p) { return fortran_name("", p.kernel, "_extent"); }
std::string function_in_c(const Called& p) { return fortran_name("", p.name, "_of_c"); }

/// Another name where Fortran's kinds and functions, those of the interface, or a variable around
/// the routine have it: the caller's arguments are matched by position.
std::string name_of(const Called& p, const Parameter& a) {
  std::set<std::string> own{lower_case(p.kernel), lower_case(module_of(p)),
                            lower_case(extent_name(p)), lower_case(function_in_c(p))};
  if (std::any_of(p.params.begin(), p.params.end(),
                  [](const Parameter& x) { return x.fortran.text; }))
    own.insert("len");
  const auto is_taken = [&](const std::string& n) {
    return is_reserved(Surroundings::Fortran, NameUse::Local, n) || own.count(lower_case(n)) > 0 ||
           std::any_of(p.params.begin(), p.params.end(), [&](const Parameter& x) {
             return !a.fortran.outer && is_around(p, x) && x.fortran.outer->name == lower_case(n);
           });
  };
  std::string name = fortran_name("", a.name, "");
  const auto is_other = [&] {
    return std::any_of(p.params.begin(), p.params.end(), [&](const Parameter& x) {
      return x.name != a.name && lower_case(x.name) == lower_case(name);
    });
  };
  while (is_taken(name) || (name != a.name && is_other())) name = fortran_name("", name, "_value");
  return name;
}

/// An outer variable of another module has another name in the routine where an argument, or a
/// name of ours, has its own.
std::string imported_name(const Called& p, const Parameter& a) {
  const std::string& name = a.fortran.outer->name;
  const bool taken = is_reserved(Surroundings::Fortran, NameUse::Local, name) ||
                     std::any_of(p.params.begin(), p.params.end(), [&](const Parameter& x) {
                       const auto& outer = x.fortran.outer;
                       return outer ? outer->name == name && outer->module < a.fortran.outer->module
                                    : lower_case(name_of(p, x)) == name;
                     });
  return taken || name == lower_case(p.kernel) ? name + "_of_" + a.fortran.outer->module : name;
}

bool is_used(const Called& p, const Parameter& a) {
  return a.fortran.outer && a.fortran.outer->kind == FortranOuter::Kind::Module &&
         !is_host(p, a.fortran.outer->module);
}

std::string name_of_whole(const Called& p, const std::string& name) {
  Parameter whole;
  whole.name = name;
  return name_of(p, whole);
}

std::string name_outside(const Called& p, const FortranBox& b) {
  if (!b.result) return b.name;
  if (p.around.separate) return *p.around.separate;
  std::string out = b.name;  // the function's where that has no `result`
  const auto is_taken = [&](const Parameter& a) { return lower_case(a.name) == lower_case(out); };
  while (lower_case(out) == lower_case(p.kernel) ||
         (out != b.name && std::any_of(p.params.begin(), p.params.end(), is_taken)))
    out = fortran_name("", out, "_value");
  return out;
}

std::string passed_name(const Called& p, const Parameter& a) {
  if (is_used(p, a)) return imported_name(p, a);
  if (a.fortran.outer) return a.fortran.outer->name;
  if (const FortranBox* b = box_of(p, a)) return name_outside(p, *b);
  if (p.around.separate && a.fortran.role == FortranRole::Result) return *p.around.separate;
  return a.fortran.component ? name_of_whole(p, a.fortran.component->of) : name_of(p, a);
}

std::string place_of(const Called& p, const Parameter& a) {
  std::string out = passed_name(p, a);
  bool axes = false;  // of arrays in elements of others
  for (const char letter : a.fortran.component ? a.fortran.component->path : std::string()) {
    axes = axes || letter == '(';
    if (!axes) out += letter;
    axes = axes && letter != ')';
  }
  return out;
}

bool is_first(const Called& p, const Parameter& a) {
  if (!a.fortran.component || a.fortran.outer) return true;
  return &a == &*std::find_if(p.params.begin(), p.params.end(), [&](const Parameter& x) {
    return x.fortran.component && !x.fortran.outer &&
           x.fortran.component->of == a.fortran.component->of;
  });
}

std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = indent + text.substr(at, end - at);
    for (; line.size() > 120; line = "&" + line.substr(110)) out += line.substr(0, 110) + "&\n";
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

const Parameter& parameter(const Called& p, const std::string& name) {
  const auto it = std::find_if(p.params.begin(), p.params.end(),
                               [&](const Parameter& x) { return x.name == name; });
  ensure(it != p.params.end(), "an argument that another one is about");
  return *it;
}

}  // namespace moonloop::fortran_side
