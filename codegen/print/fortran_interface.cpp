#include "codegen/print/fortran_interface.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "codegen/language.h"
#include "codegen/print/fortran_boxes.h"
#include "codegen/print/fortran_names.h"
#include "core/base/diagnostic.h"
#include "core/model/external.h"

namespace moonloop::fortran_side {
namespace {

void check_names(const Called& p) {
  std::set<std::string> seen;
  const auto check = [&](const std::string& name, const Span& at) {
    if (!std::isalpha(static_cast<unsigned char>(name[0])) || name.size() > 63)
      fail("unsupported", at, "`{}` is not a name in Fortran", name);
    if (!seen.insert(lower_case(name)).second)
      fail("unsupported", at, "`{}` and another name differ in case alone, which Fortran ignores",
           name);
  };
  check(p.kernel, {});
  for (const Parameter& a : p.params) check(name_of(p, a), a.at);
}
/// The type of a variable with components, where the routine is written: under another name where
/// an argument has its own.
struct DerivedType {
  std::string name, alias, module;
  std::string use(const Called& p) const {
    if (is_host(p, module)) return "";
    return "  use " + module + ", only: " + (alias == name ? name : alias + " => " + name) + "\n";
  }
};
DerivedType type_of(const Called& p, const Parameter& a) {
  const FortranComponent& c = *a.fortran.component;
  const bool of_program = p.around.contained && p.around.module.empty();  // which it knows
  if (c.module.empty() && !of_program)
    fail("unsupported", a.at,
         "`{}`: `{}` is of a type that the routine itself declares, which no caller has", p.kernel,
         c.of);
  DerivedType out{c.type, c.type, c.module};
  const auto is_taken = [&] {
    return std::any_of(p.params.begin(), p.params.end(), [&](const Parameter& x) {
      return lower_case(passed_name(p, x)) == lower_case(out.alias) ||
             (x.fortran.component && x.fortran.component->type == c.type &&
              x.fortran.component->module < c.module && out.alias == c.type);
    });
  };
  if (!is_host(p, c.module))
    while (is_taken()) out.alias += "_of_" + c.module;
  return out;
}

/// The axis, from 1, of the array whose length `extent` is.
std::pair<const Parameter*, std::size_t> axis_of(const Called& p, const Parameter& extent) {
  for (const Parameter& a : p.params)
    for (std::size_t i = 0; i < a.shape.size(); ++i) {
      const auto* v = a.shape[i].as<Var>();
      if (v && v->name == extent.name) return {&a, i + 1};
    }
  for (const Parameter& a : p.params)  // texts of assumed size, of which there are so many letters
    if (a.fortran.text && a.fortran.assumed_size && a.strides.size() > 1)
      if (const auto* v = a.strides[1].as<Var>(); v && v->name == extent.name) return {&a, 1};
  fail("unsupported", extent.at, "`{}`: no axis has the length `{}`", p.kernel, extent.name);
}

/// Whether the wrapper finds it by itself, without the caller in Fortran.
bool is_found(const Parameter& a) {
  return a.fortran.role == FortranRole::Extent || a.fortran.role == FortranRole::Lower ||
         a.fortran.role == FortranRole::Entry || a.fortran.role == FortranRole::Present ||
         a.fortran.outer;
}

/// A sum or product of the caller's arguments; empty for others.
/// `sizes`: or of the lengths of the caller's arrays.
std::string length(const Called& p, const Expr& e, bool sizes = false);

/// How long an axis of the caller's array is, where callers see it.
std::string size_of(const Called& p, const Parameter& extent) {
  const auto [array, axis] = axis_of(p, extent);
  if (array->fortran.optional || array->fortran.component || array->fortran.outer) return "";
  const std::string name = name_of(p, *array);
  if (array->fortran.text && axis == 1) return fmt::format("len({})", name);
  return fmt::format("size({}, {})", name, axis - (array->fortran.text ? 1 : 0));
}

std::string length(const Called& p, const Expr& e, bool sizes) {
  if (const auto n = as_int(e)) return *n < 0 ? "(" + std::to_string(*n) + ")" : std::to_string(*n);
  if (const auto* v = e.as<Var>()) {
    for (const Parameter& x : p.params) {
      if (x.name != v->name) continue;
      if (x.fortran.role == FortranRole::Entry) return length(p, var(x.fortran.of));
      if (sizes && x.fortran.role == FortranRole::Extent) return size_of(p, x);
      return is_found(x) && !x.fortran.outer ? "" : place_of(p, x);
    }
  }
  if (const Expr* x = negated(e)) {
    const std::string term = length(p, *x, sizes);
    return term.empty() ? "" : "(-" + term + ")";
  }
  if (const auto* c = e.as<Call>(); sizes && c && (c->name == "max" || c->name == "min")) {
    std::string out;
    for (const Expr& x : c->args) {
      const std::string term = length(p, x, sizes);
      if (term.empty()) return "";
      out += (out.empty() ? "" : ", ") + term;
    }
    return c->name + "(" + out + ")";
  }
  const auto* n = e.as<Nary>();
  if (!n || (n->op != NaryOp::Add && n->op != NaryOp::Mul)) return "";
  std::string out;
  for (const Expr& x : n->terms) {
    const std::string term = length(p, x, sizes);
    if (term.empty()) return "";
    out += (out.empty() ? "" : n->op == NaryOp::Add ? " + " : "*") + term;
  }
  return "(" + out + ")";
}

/// The same of a variable of a derived type. Fails `unsupported` for others.
std::string length(const Called& p, const Parameter& a, const Expr& e) {
  const std::string out = length(p, e);
  if (out.empty())
    fail("unsupported", a.at, "`{}`: the bounds of `{}` are not sums and products of arguments",
         p.kernel, a.fortran.component->of);
  return out;
}

/// The axes of an array in Fortran, where texts are elements.
std::vector<Expr> own_axes(const Parameter& a) {
  const bool letters = a.fortran.text && !a.shape.empty();
  return {a.shape.begin() + (letters ? 1 : 0), a.shape.end()};
}

/// How many axes the variable of a component has, and where the component is an array in elements
/// of others, each one on the way to it.
std::vector<std::size_t> ranks_of(const Parameter& a) {
  const FortranComponent& c = *a.fortran.component;
  if (!c.nested) return {c.array ? own_axes(a).size() : 0};
  std::vector<std::size_t> out{0};
  for (const char letter : c.path)
    if (letter == '%')
      out.push_back(0);
    else if (letter == ':')
      ++out.back();
  return out;
}

/// The bounds of an array as the routine declares it: callers through pointers to procedures and
/// by generic names see them. Where they cannot be written here, as many axes.
std::string declared_bounds(const Called& p, const Parameter& a) {
  if (!p.around.as_declared) return "(*)";
  std::string all;
  bool known = p.around.assumed_size.count(a.name) == 0;
  const std::vector<Expr> shape = own_axes(a);
  if (shape.empty()) return "";
  for (const Expr& e : shape) {
    const std::string n = length(p, e);
    known = known && !n.empty();
    all += (all.empty() ? "" : ", ") + n;
  }
  if (known) return "(" + all + ")";
  std::string ones;
  for (std::size_t i = 1; i < shape.size(); ++i) ones += "1, ";
  return "(" + ones + "*)";
}

/// Those of an array that a function gives.
std::string bounds_of_result(const Called& p, const Parameter& a, std::size_t from = 0) {
  std::string out;
  for (std::size_t axis = from; axis < a.shape.size(); ++axis) {
    const Expr& e = a.shape[axis];
    const std::string n = length(p, e, true);
    if (n.empty())
      fail("unsupported", a.at,
           "`{}` gives {} not sums and products of arguments, which has no counterpart in the "
           "interface",
           p.kernel,
           a.fortran.text && a.shape.size() == 1 ? "a text whose length is"
                                                 : "an array whose bounds are");
    if (a.fortran.text && axis == 0) continue;  // its type has it
    out += (out.empty() ? "" : ", ") + n;
  }
  return out.empty() ? "" : "(" + out + ")";
}

/// Those of an array of records, of which `a` is a component.
std::string bounds_of_records(const Called& p, const Parameter& a) {
  const std::size_t own = ranks_of(a).at(0);
  return own == 0 ? "" : bounds_of_result(p, a, a.shape.size() - own);
}

/// The type as the caller in Fortran has it.
std::string callers_type(const Called& p, const Parameter& a) {
  const bool letter = a.shape.empty() && a.fortran.role == FortranRole::Result;
  if (!a.fortran.text || letter) return fortran_type(p, a);
  const bool by_stride = a.fortran.assumed_size && a.strides.size() > 1,
             result = a.fortran.role == FortranRole::Result;
  const std::string n = by_stride         ? length(p, a.strides[1])
                        : a.shape.empty() ? ""
                                          : length(p, a.shape[0], result);
  return "character(" + (n.empty() ? "*" : n) + ")";
}

bool has_assumed_shape(const Called& p, const Parameter& a) {
  return std::any_of(p.params.begin(), p.params.end(), [&](const Parameter& x) {
    if (x.fortran.role != FortranRole::Extent) return false;
    const auto [array, axis] = axis_of(p, x);
    return array == &a && !(a.fortran.text && axis == 1);
  });
}

/// A character that is passed by its value: as its code.
bool is_letter(const Parameter& a) {
  return a.fortran.role == FortranRole::Character && !a.is_array;
}

/// The same of a logical value: as the integer 0 or 1.
bool is_truth(const Parameter& a) { return a.fortran.logical && !a.is_array; }

/// The variable whose presence an argument of the C function says.
std::string asked(const Called& p, const Parameter& a) {
  const auto it = std::find_if(p.params.begin(), p.params.end(),
                               [&](const Parameter& x) { return x.name == a.fortran.of; });
  return it == p.params.end() ? name_of_whole(p, a.fortran.of) : passed_name(p, *it);
}

/// What the caller may have without memory.
bool may_lack_memory(const Parameter& a) {
  return a.fortran.allocatable || !a.fortran.pointer.empty();
}

/// The array that may not be there, or have no memory, that an extent, or a first subscript, is
/// about; null for other parameters.
const Parameter* optional_array(const Called& p, const Parameter& a) {
  const Parameter* array = nullptr;
  if (a.fortran.role == FortranRole::Extent) array = axis_of(p, a).first;
  if (a.fortran.role == FortranRole::Lower)
    for (const Parameter& x : p.params)
      if (x.name == a.fortran.of) array = &x;
  return array && (array->fortran.optional || may_lack_memory(*array)) ? array : nullptr;
}
bool is_found_where_present(const Called& p, const Parameter& a) {
  return optional_array(p, a) != nullptr;
}

/// Arrays that the elements of an array have each for itself: the C function gets a copy.
bool is_nested(const Parameter& a) { return a.fortran.component && a.fortran.component->nested; }

bool is_optional_procedure(const Parameter& a) {
  return a.fortran.optional && !a.fortran.procedure.empty();
}

/// An argument that the C function gets as another variable: a part of an optional one that may not
/// be there, what may have no memory, copies, and addresses that there may not be.
bool is_staged(const Parameter& a) {
  return is_nested(a) || is_optional_procedure(a) ||
         (a.fortran.optional && (a.fortran.component || may_lack_memory(a)));
}
std::string staged_name(const Called& p, const Parameter& a) {
  std::string name = fortran_name("", a.name, "_if_there");
  const auto is_taken = [&](const Parameter& x) {
    return lower_case(name_of(p, x)) == name || lower_case(passed_name(p, x)) == name;
  };
  while (std::any_of(p.params.begin(), p.params.end(), is_taken))
    name = fortran_name("", name, "_value");
  return name;
}

/// How long an axis of the caller's array is.
std::string extent(const Called& p, const Parameter& a) {
  const auto [array, axis] = axis_of(p, a);
  const std::size_t letters = array->fortran.text ? 1 : 0;
  const std::size_t inner = is_nested(*array) ? own_axes(*array).size() - ranks_of(*array)[0] : 0;
  const std::string of = inner > 0 ? passed_name(p, *array) : place_of(p, *array);
  const std::string head = extent_name(p) + "(",
                    size = letters && axis == 1 ? fmt::format("len({}, c_int64_t))", of)
                                                : fmt::format("size({}, {}, c_int64_t))", of,
                                                              axis - letters - inner);
  constexpr std::size_t kLine = 110;  // of 132, with what is before and after it
  return head + (head.size() + size.size() > kLine ? "&\n          " : "") + size;
}

/// What an argument of the C function says: whether another one is there, or has memory.
std::string presence(const Called& p, const Parameter& a) {
  if (!may_lack_memory(a)) return "present(" + asked(p, a) + ")";
  const char* asks = a.fortran.allocatable ? "allocated(" : "associated(";
  if (a.fortran.outer) return asks + place_of(p, a) + ")";
  const Parameter& of = parameter(p, a.fortran.of);
  return asks + (is_staged(of) ? staged_name(p, of) : place_of(p, of)) + ")";
}

/// The declaring or calling side.
enum class Side { C, Fortran, Call };

std::string argument(const Called& p, const Parameter& a, Side side) {
  if (side != Side::Call) return side == Side::C ? name_of(p, a) : passed_name(p, a);
  if (a.fortran.role == FortranRole::Present)
    return fmt::format("merge(1_{0}, 0_{0}, {1})", integer_kind(a.type), presence(p, a));
  if (is_staged(a)) return staged_name(p, a);
  if (is_found_where_present(p, a)) return name_of(p, a);
  const std::string name = place_of(p, a);
  if (const FortranBox* b = box_of(p, a)) {
    const std::string address = "transfer(c_loc(" + name_of(p, a) + "), 0_c_int64_t)";
    return b->optional ? fmt::format("merge({}, 0_c_int64_t, present({}))", address, b->name)
                       : address;
  }
  if (!a.fortran.procedure.empty()) return "transfer(c_funloc(" + name + "), 0_c_int64_t)";
  if (is_letter(a)) return "int(ichar(" + name + "), c_int8_t)";
  if (is_truth(a)) return fmt::format("merge(1_{0}, 0_{0}, {1})", integer_kind(a.type), name);
  if (a.fortran.role == FortranRole::Entry)
    for (const Parameter& x : p.params)
      if (x.name == a.fortran.of) return argument(p, x, side);
  if (a.fortran.role == FortranRole::Lower)
    for (const Parameter& x : p.params)
      if (x.name == a.fortran.of)
        return fmt::format("lbound({}, {})", place_of(p, x), a.fortran.axis + 1);
  // Of an array of records, which is no argument itself.
  if (a.fortran.role == FortranRole::Lower)
    return fmt::format("lbound({}, {})", name, a.fortran.axis + 1);
  return a.fortran.role == FortranRole::Extent ? extent(p, a) : name;
}

/// A statement that runs where the argument is there, and has memory.
std::string where_present(const Called& p, const Parameter& a, const std::string& what) {
  std::vector<std::string> conditions;
  if (a.fortran.optional) conditions.push_back("present(" + passed_name(p, a) + ")");
  if (a.fortran.component && !a.fortran.component->pointer.empty())
    conditions.push_back("associated(" + passed_name(p, a) + ")");
  if (a.fortran.allocatable) conditions.push_back("allocated(" + place_of(p, a) + ")");
  if (!a.fortran.pointer.empty()) conditions.push_back("associated(" + place_of(p, a) + ")");
  const std::string last = conditions.back();
  conditions.pop_back();
  std::string out, end, indent = "  ";
  for (const std::string& c : conditions) {  // the next one is asked only then
    out += indent + "if (" + c + ") then\n";
    end = indent + "end if\n" + end;
    indent += "  ";
  }
  return out + indent + "if (" + last + ") " + what + "\n" + end;
}

/// Before the call: how long the axes of arrays are that may not be there, or have no memory.
std::string optional_extents(const Called& p, bool declared) {
  std::string out;
  for (const Parameter& a : p.params) {
    const Parameter* array = optional_array(p, a);
    if (!array) continue;
    const std::string name = name_of(p, a);
    const std::string value =
        a.fortran.role == FortranRole::Extent
            ? extent(p, a)
            : fmt::format("lbound({}, {})", place_of(p, *array), a.fortran.axis + 1);
    if (declared)
      out += fmt::format("  {} :: {}\n", fortran_type(p, a), name);
    else
      out += fmt::format("  {} = 0\n", name) + where_present(p, *array, name + " = " + value);
  }
  return out;
}

/// The length of an axis as the kernel takes it, or the program's end where that cannot be.
std::string extent_function(const Called& p) {
  const bool some = std::any_of(p.params.begin(), p.params.end(), [](const Parameter& a) {
    return a.fortran.role == FortranRole::Extent;
  });
  if (!some) return "";
  const std::string name = extent_name(p);
  return std::string("contains\n  ") + (p.around.pure ? "pure " : "") +
         "integer(c_int32_t) function " + name +
         "(n)\n    integer(c_int64_t), intent(in) :: n\n    if (n > huge(0_c_int32_t)) "
         "error stop &\n        \"" +
         p.kernel + ": an axis has more than 2147483647 elements\"\n    " + name +
         " = int(n, c_int32_t)\n  end function\n";
}

/// The places of alternate returns among the names of arguments.
void add_alternates(const Called& p, std::vector<std::string>& names) {
  std::ptrdiff_t stars = 0;
  for (const int before : p.around.alternates) names.insert(names.begin() + before + stars++, "*");
}

/// After the call: to which of the caller's labels to go.
std::string alternate_return(const Called& p) {
  if (p.around.alternates.empty()) return "";
  return "\n  return " + name_of(p, parameter(p, p.around.alternate));
}

/// `head(a, b, ...) tail`, in lines that Fortran takes. The caller gives no result and no lengths.
std::string with_arguments(const Called& p, const std::string& head, Side side,
                           const std::string& tail = {}) {
  std::string out = head + "(", line = out;
  std::vector<std::string> names;
  for (const Parameter& a : p.params) {
    const bool own = a.fortran.role == FortranRole::Result || is_found(a) || !is_first(p, a) ||
                     (box_of(p, a) && box_of(p, a)->result) || is_part_of_boxed(p, a) ||
                     is_alternate(p, a);
    if (side == Side::Fortran && own) continue;
    names.push_back(argument(p, a, side));
  }
  if (side == Side::Fortran) add_alternates(p, names);
  const auto add = [&](const std::string& next) {
    if (line.size() + next.size() > 96) {
      out += "&\n        ";
      line = "        ";
    }
    out += next;
    line += next;
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    add(names[i] + (i + 1 < names.size() ? ", " : ")"));
  if (names.empty()) out += ")";
  if (!tail.empty()) add(" " + tail);
  return out;
}

/// An argument's type where the C function is declared. Its address is that of a logical variable
/// of the caller, which cannot be declared as an integer.
std::string type_in_c(const Called& p, const Parameter& a) {
  if (is_letter(a)) return "integer(c_int8_t)";
  if (!a.fortran.logical) return fortran_type(p, a);
  return a.is_array ? "type(*)" : "integer(" + integer_kind(a.type) + ")";
}

std::string colons(std::size_t axes) {
  std::string out = "(:";
  for (std::size_t i = 1; i < axes; ++i) out += ", :";
  return out + ")";
}
std::string colons(const Parameter& a) { return colons(own_axes(a).size()); }

/// How an argument is passed: as it is declared, since that is what callers, and procedures that
/// it is passed to, know of it. What C gets is an output of a pure routine.
std::string attribute(const Called& p, const std::string& name, Intent intent) {
  if (p.around.values.count(name)) return ", value";
  if (const auto it = p.around.intents.find(name); it != p.around.intents.end())
    return ", intent(" + it->second + ")";
  if (p.around.undeclared.count(name)) return "";
  if (intent == Intent::In) return ", intent(in)";
  return p.around.pure ? ", intent(inout)" : "";
}

/// Whether the routine declares that it changes nothing of it, or does not.
bool is_input(const Called& p, const Parameter& a) {
  if (a.intent == Intent::In) return true;
  const auto& c = a.fortran.component;
  return attribute(p, c ? c->of : a.name, a.intent) == ", intent(in)";
}

/// The variable that `a` is the first component of. After its name, the shape of a component that
/// is not an array itself, which is that of the variable.
std::string derived_declaration(const Called& p, const Parameter& a) {
  const std::string& name = a.fortran.component->of;
  bool written = false;
  const Parameter* shape = nullptr;
  for (const Parameter& x : p.params) {
    if (!x.fortran.component || x.fortran.component->of != name) continue;
    written = written || (x.intent != Intent::In && x.fortran.pointer.empty());
    if (x.fortran.component->array && !shape) shape = &x;
  }
  const FortranComponent& c = *a.fortran.component;
  if (a.fortran.role == FortranRole::Result)
    return "type(" + type_of(p, a).alias + ") :: " + passed_name(p, a) + bounds_of_records(p, a);
  std::string out = (c.polymorphic ? "class(" : "type(") + type_of(p, a).alias + ")";
  out += c.pointer.empty() ? attribute(p, name, written ? Intent::InOut : Intent::In) : c.pointer;
  if (a.fortran.optional) out += ", optional";
  out += " :: " + passed_name(p, a);
  if (!shape) return out;
  const std::size_t axes = ranks_of(*shape)[0];  // behind those of the component
  if (has_assumed_shape(p, *shape)) return out + colons(axes);
  std::string lengths;
  for (std::size_t i = shape->shape.size() - std::min(axes, shape->shape.size());
       i < shape->shape.size(); ++i)
    lengths += (lengths.empty() ? "" : ", ") + length(p, *shape, shape->shape[i]);
  if (shape->shape.empty())
    fail("unsupported", a.at, "`{}`: the bounds of `{}` are not known", p.kernel, name);
  return out + "(" + lengths + ")";
}

/// What the C function gets as other variables, before the call and after it.
struct Staged {
  std::string declarations, before, after;
};

/// `what`, where the argument is there.
std::string if_there(const Called& p, const Parameter& a, const std::string& what) {
  return wrapped(a.fortran.optional ? where_present(p, a, what) : "  " + what + "\n", "");
}

/// The i-th variable over the elements of arrays around a component.
std::string over(std::size_t i) { return fmt::format("moonloop_i{}", i); }

/// A copy of arrays that elements of an array have, element by element.
void copy_nested(const Called& p, const Parameter& a, Staged& out) {
  const std::string name = staged_name(p, a), type = callers_type(p, a);
  const std::vector<Expr> shape = own_axes(a);
  const std::vector<std::size_t> ranks = ranks_of(a);
  if (type.ends_with("(*)") || a.fortran.outer)
    fail("unsupported", a.at,
         "`{}`: `{}`, an array of each element of an array, has no counterpart in the interface",
         p.kernel, place_of(p, a));
  const std::string names = place_of(p, a).substr(passed_name(p, a).size());
  std::string place = passed_name(p, a), first = place, ranges, section, lengths;
  std::size_t behind = shape.size(), number = 0, path = 1;
  for (std::size_t level = 0; level < ranks.size(); ++level) {
    if (level > 0) {
      const std::size_t end = std::min(names.find('%', path), names.size());
      place += names.substr(path - 1, end - path + 1);
      first += names.substr(path - 1, end - path + 1);
      path = end + 1;
    }
    behind -= ranks[level];
    const bool last = level + 1 == ranks.size();
    std::string index, of_first, in_copy, sizes;
    for (std::size_t axis = 0; axis < ranks[level]; ++axis) {
      const std::string comma = axis > 0 ? ", " : "";
      const auto n = level > 0 ? as_int(shape[behind + axis]) : std::nullopt;
      const std::string size =
          n ? std::to_string(*n) : fmt::format("size({}, {})", first, axis + 1);
      sizes += comma + size;
      in_copy += comma + (last ? ":" : over(++number));
      if (last) continue;
      ranges += (ranges.empty() ? "" : ", ") + fmt::format("{} = 1:{}", over(number), size);
      const std::string lower = fmt::format("lbound({}, {})", first, axis + 1);
      index += comma + lower + " + " + over(number) + " - 1";
      of_first += comma + lower;
    }
    if (!index.empty()) place += "(" + index + ")", first += "(" + of_first + ")";
    if (sizes.empty()) continue;
    section = in_copy + (section.empty() ? "" : ", " + section);
    lengths = sizes + (lengths.empty() ? "" : ", " + lengths);
  }
  out.declarations += "  " + type + ", allocatable :: " + name + colons(a) + "\n";
  const std::string copy = name + "(" + section + ")", all = "forall (" + ranges + ") ";
  out.before += if_there(p, a, "allocate (" + name + "(" + lengths + "))");
  out.before += if_there(p, a, all + copy + " = " + place);
  if (is_input(p, a)) return;
  const std::string back = if_there(p, a, all + place + " = " + copy);
  out.after += "\n" + back.substr(0, back.size() - 1);
}

/// The variables over elements of arrays.
std::string declared_numbers(const Called& p) {
  std::size_t most = 0;
  for (const Parameter& a : p.params)
    if (is_nested(a)) most = std::max(most, own_axes(a).size() - ranks_of(a).back());
  std::string out;
  for (std::size_t i = 1; i <= most; ++i) out += (i > 1 ? ", " : "  integer :: ") + over(i);
  return out.empty() ? out : out + "\n";
}
Staged staged(const Called& p) {
  Staged out;
  out.declarations = declared_numbers(p);
  for (const Parameter& a : p.params) {
    if (is_nested(a)) copy_nested(p, a, out);
    if (is_nested(a) || !is_staged(a)) continue;
    const std::string name = staged_name(p, a), place = place_of(p, a);
    if (is_optional_procedure(a)) {
      out.declarations += "  integer(c_int64_t) :: " + name + "\n";
      out.before +=
          "  " + name + " = 0\n" +
          where_present(p, a, name + " = transfer(c_funloc(" + place + "), " + name + ")");
      continue;
    }
    const bool array = !own_axes(a).empty(), pointer = !a.fortran.pointer.empty();
    const bool stays = is_input(p, a), memory = a.fortran.allocatable;
    const std::string type = callers_type(p, a);
    if (type.ends_with("(*)") || (pointer && p.around.pure))
      fail("unsupported", a.at,
           "`{}`: the optional `{}` of this kind has no counterpart in the interface", p.kernel,
           place);
    out.declarations += "  " + type +
                        (pointer ? ", pointer"
                         : array ? ", allocatable"
                                 : "") +
                        " :: " + name + (array ? colons(a) : "") + "\n";
    if (pointer) {
      out.before += "  nullify (" + name + ")\n" + where_present(p, a, name + " => " + place);
    } else if (memory && !stays) {
      out.before += where_present(p, a, "call move_alloc(" + place + ", " + name + ")");
      out.after += "\n  if (allocated(" + name + ")) call move_alloc(" + name + ", " + place + ")";
    } else {
      std::string lengths;
      for (std::size_t axis = 1; axis <= own_axes(a).size(); ++axis)
        lengths += (axis > 1 ? ", " : "") + fmt::format("size({}, {})", place, axis);
      if (array) out.before += where_present(p, a, "allocate (" + name + "(" + lengths + "))");
      out.before += where_present(p, a, name + " = " + place);
      const std::string back = where_present(p, a, place + " = " + name);
      if (!stays) out.after += "\n" + back.substr(0, back.size() - 1);
    }
  }
  return out;
}

std::string derived_declarations(const Called& p, const std::string& indent) {
  std::string scalars, arrays;
  for (const Parameter& a : p.params) {
    if (!a.fortran.component || a.fortran.outer || !is_first(p, a) || is_part_of_boxed(p, a))
      continue;
    const std::string line = indent + derived_declaration(p, a) + "\n";
    (line.ends_with(")\n") ? arrays : scalars) += line;  // their bounds may be components
  }
  return scalars + arrays;
}

/// The `use` statements for the types of these variables, and for variables of other modules, in
/// the routine.
std::string uses(const Called& p) {
  std::set<std::string> out;
  for (const Parameter& a : p.params) {
    if (a.fortran.component && !a.fortran.outer && !is_part_of_boxed(p, a))
      out.insert(type_of(p, a).use(p));
    if (const FortranBox* x = box_of(p, a); x && !x->module.empty() && !is_host(p, x->module))
      out.insert("  use " + x->module + ", only: " + x->imported + "\n");
    if (!is_used(p, a)) continue;
    const std::string name = imported_name(p, a), &own = a.fortran.outer->name;
    out.insert("  use " + a.fortran.outer->module +
               ", only: " + (name == own ? name : name + " => " + own) + "\n");
  }
  return fmt::format("{}", fmt::join(out, ""));
}

/// Common blocks and variables that keep their values.
std::string declarations_of_outer(const Called& p, const std::string& indent) {
  std::set<std::string> out;
  for (const Parameter& a : p.params)
    if (a.fortran.outer) out.insert(wrapped(a.fortran.outer->declarations, indent));
  return fmt::format("{}", fmt::join(out, ""));
}

std::string declarations(const Called& p, bool by_value, const std::string& indent) {
  std::string scalars, arrays;
  for (const Parameter& a : p.params) {
    if (!by_value && (is_found(a) || a.fortran.component || box_of(p, a))) continue;
    if (!by_value && !a.fortran.procedure.empty()) {
      const bool external = a.fortran.procedure.starts_with("external,");  // has no type to precede
      if (p.around.pure && (a.fortran.procedure.find("external") != std::string::npos ||
                            a.fortran.procedure.starts_with("procedure()")))
        fail("unsupported", a.at,
             "`{}`: the procedure `{}`, an argument of a pure routine, has no counterpart in the "
             "interface",
             p.kernel, a.name);
      scalars += indent +
                 (external ? "procedure()" + a.fortran.procedure.substr(8) : a.fortran.procedure) +
                 " :: " + name_of(p, a) + "\n";
      continue;
    }
    const bool array = a.is_array && !a.shape.empty();
    std::string line = indent + (by_value ? type_in_c(p, a) : callers_type(p, a));
    if (!a.is_array && by_value)
      line += ", value";
    else if (!by_value && !a.fortran.pointer.empty())
      line += a.fortran.pointer;
    else if (by_value ||
             (!is_alternate(p, a) &&
              a.fortran.role != FortranRole::Result))  // a function's value has no attribute
      line += attribute(p, by_value ? "" : a.name, a.intent);
    if (!by_value && a.fortran.allocatable) line += ", allocatable";
    const bool lacks = by_value && a.is_array && may_lack_memory(a);  // then it has no address
    const bool number = by_value && is_optional_procedure(a);
    if ((a.fortran.optional && !number) || lacks) line += ", optional";
    line += " :: " + name_of(p, a);
    if (!by_value && a.fortran.role == FortranRole::Result)
      line += bounds_of_result(p, a);
    else if (!by_value && has_assumed_shape(p, a))
      line += colons(a);
    else if (array)
      line += by_value ? "(*)" : declared_bounds(p, a);
    (array && !by_value ? arrays : scalars) += line + "\n";  // bounds are over scalars
  }
  if (by_value) return scalars;
  if (p.around.separate) return boxes(p) + declarations_of_outer(p, indent);
  const std::string derived = derived_declarations(p, indent);
  return scalars + derived + boxes(p) + wrapped(arrays, "") + declarations_of_outer(p, indent);
}

/// The first and the last statement of the routine. Of one in a submodule, the module says what its
/// arguments are.
std::pair<std::string, std::string> ends_of(const Called& p) {
  const AroundRoutine& around = p.around;
  if (around.separate) {
    for (const Parameter& a : p.params)
      if (!is_found(a) && a.fortran.role != FortranRole::Result && !a.fortran.component &&
          !is_alternate(p, a) && !box_of(p, a) && passed_name(p, a) != lower_case(a.name))
        fail("unsupported", a.at,
             "`{}`: the interface in a submodule has a name `{}` of its own, which is an argument",
             p.kernel, a.name);
    return {"module procedure " + p.kernel, "end procedure"};
  }
  const auto result = std::find_if(p.params.begin(), p.params.end(), [&](const Parameter& a) {
    return a.fortran.role == FortranRole::Result || (box_of(p, a) && box_of(p, a)->result);
  });
  const bool is_function = result != p.params.end();
  const std::string kind = is_function ? "function" : "subroutine";
  const std::string prefix = std::string(around.recursive ? "recursive " : "") +
                             (around.pure && !around.elemental ? "pure " : "") +
                             (around.elemental && !around.pure ? "impure " : "") +
                             (around.elemental ? "elemental " : "");
  std::string tail = is_function ? "result(" + passed_name(p, *result) + ")" : "";
  if (around.bound)
    tail += (tail.empty() ? "" : " ") + std::string("bind(c, name=\"") + *around.bound + "\")";
  return {with_arguments(p, prefix + kind + " " + p.kernel, Side::Fortran, tail), "end " + kind};
}

std::string c_function(const Called& p, const std::string& name) {
  std::string parameters, arguments;
  const std::string letter = p.name.starts_with("a") ? "b" : "a";  // the function has another name
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    const Parameter& a = p.params[i];
    const std::string own = letter + std::to_string(i + 1), comma = i == 0 ? "" : ", ";
    parameters += comma + type_name(Language::C, a.type) +
                  (!a.is_array              ? " "
                   : a.intent == Intent::In ? " const *"
                                            : " *") +
                  own;
    arguments += comma + own;
  }
  return "\n/* Called from Fortran. */\nvoid " + name + "(" + parameters + ") {\n  " + p.name +
         "(" + arguments + ");\n}\n";
}

FortranInterface written(const Called& p) {
  const AroundRoutine& around = p.around;
  if (!features_of(p.target).host_function) {
    std::vector<std::string> others;
    for (const Target t : all_targets())
      if (features_of(t).host_function) others.push_back("`" + to_string(t) + "`");
    const std::string last = others.back();
    others.pop_back();
    fail("unsupported", {}, "target `{}` has no interface to Fortran; {} and {} have",
         to_string(p.target), fmt::join(others, ", "), last);
  }
  check_names(p);
  const std::string module = module_of(p), function = function_in_c(p);
  FortranInterface out;
  out.module = "! Calls the function `" + p.name + "` that Moonloop generated.\nmodule " + module +
               "\n  use, intrinsic :: iso_c_binding\n  implicit none\n  interface\n";
  out.module +=
      with_arguments(p, (around.pure ? "    pure subroutine " : "    subroutine ") + function,
                     Side::C, "bind(c, name=\"" + function + "\")") +
      "\n";
  out.module += "      import\n" + declarations(p, true, "      ") + "    end subroutine\n";
  out.module += "  end interface\n";
  for (const auto& [pointer, to] : around.pointers)
    out.module += "  procedure(), pointer :: " + pointer + " => null()\n";
  out.module += extent_function(p) + "end module\n\n";
  const auto [head, end] = ends_of(p);
  const Staged other = staged(p);
  out.routine = head + "\n  use " + module + "\n" + uses(p) + "  implicit none\n" +
                declarations(p, false, "  ") + optional_extents(p, true) + other.declarations +
                optional_extents(p, false);
  const auto [begin_alone, end_alone] = by_one_thread(p);
  out.routine += begin_alone + fill_boxes(p) + other.before;
  for (const auto& [pointer, to] : around.pointers)
    out.routine += "  " + pointer + " => " + to + "\n";
  out.routine += with_arguments(p, "  call " + function, Side::Call) + other.after +
                 empty_boxes(p) + (end_alone.empty() ? "" : "\n" + end_alone) +
                 alternate_return(p) + "\n" + end + "\n";
  for (const std::string& text : around.outputs_inside) out.routine += "\n" + wrapped(text, "");
  (around.contained ? out.routine : out.after) += places_of_records(p);
  for (const std::string& text : around.outputs) out.after += "\n" + wrapped(text, "");
  const std::string stop = stop_name(p.kernel);
  if (std::find(p.externals.begin(), p.externals.end(), stop + "_") != p.externals.end())
    out.after += "\nsubroutine " + stop +
                 "(text, status)\n  use, intrinsic :: iso_fortran_env, only: error_unit\n"
                 "  implicit none\n  character(*), intent(in) :: text\n"
                 "  integer, intent(in) :: status\n"
                 "  if (len(text) > 0) write (error_unit, '(a)') text\n"
                 "  stop status, quiet=.true.\nend subroutine\n";
  if (!features_of(p.target).c_linkage) out.c = c_function(p, function);
  return out;
}

}  // namespace
}  // namespace moonloop::fortran_side

namespace moonloop {

FortranInterface fortran_interface(const Program& program, const std::string& kernel,
                                   const AroundRoutine& around) {
  return fortran_side::written({program, kernel, around});
}

}  // namespace moonloop
