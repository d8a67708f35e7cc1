#include "codegen/print/fortran_boxes.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/external.h"

namespace moonloop::fortran_side {
namespace {

/// A record of the caller. It has no attribute that its declaration does not have, as procedures
/// with other ones are others: a subroutine, whose argument is a target, says where it is.
bool is_callers(const Called& p, const FortranBox& b) {
  return b.record && (!b.result || p.around.separate);
}

bool is_input(const FortranBox& b) { return b.intent == ", intent(in)"; }

std::string place_name(const Called& p, const FortranBox& b) {
  return fortran_name("", p.kernel, "_place_of_" + b.name);
}

std::string use_of_type(const Called& p, const FortranBox& b, bool from_outside) {
  if (b.module.empty() || (!from_outside && is_host(p, b.module))) return "";
  return "  use " + b.module + ", only: " + b.imported + "\n";
}

/// The first lines of the subroutine that gives a pointer to a record.
std::string place_interface(const Called& p, const FortranBox& b, bool from_outside) {
  return fmt::format(
      "{0}subroutine {1}(moonloop_at, moonloop_to)\n{2}  implicit none\n  {3}, target, intent({4}) "
      ":: moonloop_at{5}\n  {3}, "
      "pointer, intent(inout) :: moonloop_to{5}\n",
      p.around.pure ? "pure " : "", place_name(p, b), use_of_type(p, b, from_outside), b.type,
      is_input(b) ? "in" : "inout", b.shape);
}

}  // namespace

std::string boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes) {
    const Parameter& a = parameter(p, argument);
    if (p.around.pure && (b.pointer || (is_callers(p, b) && is_input(b))))
      fail("unsupported", a.at,
           "`{}`: `{}`, which Fortran keeps, has no counterpart in the interface of a pure routine",
           p.kernel, b.name);
    const char* in_box = b.pointer || b.record ? "pointer" : "allocatable";
    if (!p.around.separate)  // whose interface declares it
      out += fmt::format(
          "  {}{}{} :: {}{}\n", b.type,
          is_callers(p, b) ? "" : std::string(b.record ? ", target" : fmt::format(", {}", in_box)),
          b.intent + (b.optional ? ", optional" : ""), name_outside(p, b),
          b.bounds.empty() ? b.shape : b.bounds);
    out += fmt::format(
        "  type :: {2}_type\n    {0}, {3} :: value{1}\n  end type\n  type({2}_type), target :: "
        "{2}\n",
        b.type, b.shape, name_of(p, a), in_box);
    if (is_callers(p, b) && !p.around.contained)
      out += "  interface\n" + place_interface(p, b, true) + "  end subroutine\n  end interface\n";
  }
  return out;
}

std::string places_of_records(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes)
    if (is_callers(p, b))
      out += "\n" + place_interface(p, b, !p.around.contained) +
             "  moonloop_to => moonloop_at\nend subroutine\n";
  return out;
}

namespace {

/// The first subscripts of an array's axes, for a pointer.
std::string lower_bounds(const FortranBox& b) {
  std::string out;
  for (std::size_t axis = 1; axis <= static_cast<std::size_t>(std::ranges::count(b.shape, ':'));
       ++axis)
    out += fmt::format("{}lbound({}, {}):", axis > 1 ? ", " : "", b.name, axis);
  return out;
}

/// A statement where the argument is there.
std::string if_present(const FortranBox& b, const std::string& statement) {
  if (!b.optional) return "  " + statement + "\n";
  return fmt::format("  if (present({})) then\n    {}\n  end if\n", b.name, statement);
}

}  // namespace

std::string fill_boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes) {
    const std::string box = name_of(p, parameter(p, argument)) + "%value";
    if (is_callers(p, b)) {
      out += fmt::format("  nullify ({0})\n  call {1}({2}, {0})\n", box, place_name(p, b),
                         name_outside(p, b));
      if (!b.bounds.empty()) out += fmt::format("  {0}({1}) => {0}\n", box, lower_bounds(b));
    } else if (b.pointer || b.record)
      out += if_present(b, fmt::format("{} => {}", box, name_outside(p, b)));
    else if (b.input)
      out +=
          if_present(b, fmt::format("if (allocated({0})) allocate ({1}, source={0})", b.name, box));
    else if (!b.result)
      out += if_present(b, fmt::format("call move_alloc({}, {})", b.name, box));
  }
  return out;
}
std::string empty_boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes)
    if (!b.record && (b.pointer ? b.intent != ", intent(in)" : !b.input)) {
      const std::string box = name_of(p, parameter(p, argument)) + "%value";
      const std::string back = if_present(
          b, b.pointer ? fmt::format("{} => {}", name_outside(p, b), box)
                       : fmt::format("call move_alloc({}, {})", box, name_outside(p, b)));
      out += "\n" + back.substr(0, back.size() - 1);
    }
  return out;
}

}  // namespace moonloop::fortran_side
