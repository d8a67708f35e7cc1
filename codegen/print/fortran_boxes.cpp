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
        b.type, b.intent, b.name, b.shape, name_of(p, a), in_box, b.record ? "target" : in_box,
        b.bounds.empty() ? b.shape : b.bounds);
  }
  return out;
}

std::string fill_boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes) {
    const std::string box = name_of(p, parameter(p, argument)) + "%value";
    if (b.pointer || b.record)
      out += fmt::format("  {} => {}\n", box, b.name);
    else if (b.input)
      out += fmt::format("  if (allocated({0})) allocate ({1}, source={0})\n", b.name, box);
    else if (!b.result)
      out += fmt::format("  call move_alloc({}, {})\n", b.name, box);
  }
  return out;
}
std::string empty_boxes(const Called& p) {
  std::string out;
  for (const auto& [argument, b] : p.around.boxes)
    if (!b.record && (b.pointer ? b.intent != ", intent(in)" : !b.input))
      out += fmt::format(
          fmt::runtime(b.pointer ? "\n  {1} => {0}%value" : "\n  call move_alloc({0}%value, {1})"),
          name_of(p, parameter(p, argument)), b.name);
  return out;
}

}  // namespace moonloop::fortran_side
