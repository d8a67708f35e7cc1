#include "frontends/fortran/roles.h"

#include <algorithm>

namespace moonloop::fortran {

FortranArgument role_of(const Variable& v) {
  FortranArgument out;
  out.role = v.extent                                        ? FortranRole::Extent
             : !v.lower_of.empty()                           ? FortranRole::Lower
             : !v.entry_of.empty()                           ? FortranRole::Entry
             : !v.present_of.empty() || !v.memory_of.empty() ? FortranRole::Present
             : v.result || v.gives                           ? FortranRole::Result
             : v.character ? FortranRole::Character  // also of a component
             : v.component ? FortranRole::Component
                           : FortranRole::None;
  out.logical = v.logical;
  out.text = v.text || ((v.result || v.gives) && v.character);  // a letter has no axes
  out.allocatable = v.allocatable;
  out.optional = v.optional;
  out.pointer = v.pointer_attributes;
  out.procedure = v.procedure;
  out.of = v.lower_of + v.entry_of + v.present_of + v.memory_of;
  out.axis = v.axis;
  out.component = v.component;
  out.outer = v.outer;
  return out;
}

bool is_asked_for_memory(const Routine& r, const std::string& name) {
  return std::any_of(r.arguments.begin(), r.arguments.end(), [&](const std::string& a) {
    const auto it = r.variables.find(a);
    return it != r.variables.end() && it->second.memory_of == name;
  });
}

}  // namespace moonloop::fortran
