#include "codegen/print/fortran_boxes.h"

#include "core/base/diagnostic.h"

namespace moonloop::fortran_side {

std::string boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes) {
    const Parameter& a = parameter(p, argument);
    if (p.around.pure)
      fail("unsupported", a.at,
           "`{}`: `{}`, which Fortran keeps, has no counterpart in the interface of a pure routine",
           p.kernel, b.name);
    const char* in_box = b.pointer || b.record ? "pointer" : "allocatable";
    out += fmt::format(
        "  {0}, {6}{1} :: {2}{7}\n  type :: {4}_type\n    {0}, {5} "
        ":: value{3}\n  end type\n  type({4}_type), target :: {4}\n",
        b.type, b.intent + (b.optional ? ", optional" : ""), b.name, b.shape, name_of(p, a), in_box,
        b.record ? "target" : in_box, b.bounds.empty() ? b.shape : b.bounds);
  }
  return out;
}

namespace {

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
    if (b.pointer || b.record)
      out += if_present(b, fmt::format("{} => {}", box, b.name));
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
      const std::string back =
          if_present(b, b.pointer ? fmt::format("{} => {}", b.name, box)
                                  : fmt::format("call move_alloc({}, {})", box, b.name));
      out += "\n" + back.substr(0, back.size() - 1);
    }
  return out;
}

}  // namespace moonloop::fortran_side
