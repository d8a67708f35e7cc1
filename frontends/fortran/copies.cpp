#include "frontends/fortran/copies.h"

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"

// Outer variables of which the generated code has copies.
namespace moonloop::fortran {

bool is_passed_as_copy(const Variable& v) {
  return !outer_path(v).empty() && v.array && v.component && v.component->array && !is_ours(v);
}

Output exchange_of(const Variable& v, const Routine& r, bool back, const Span& at) {
  if (v.character || v.text)
    fail("unsupported", at,
         "`{}`, letters in elements of an array, beside what accesses them by their name is not "
         "supported in Fortran kernels",
         v.name);
  if (v.component->nested)
    fail("unsupported", at,
         "`{}`, an array in each element of an array, beside what accesses it by its name is not "
         "supported in Fortran kernels",
         shown(v));
  const bool in_program = v.outer->kind == FortranOuter::Kind::Program;
  const std::string own = v.outer->name + v.component->path;
  Output o;
  o.what = "copy";
  o.declarations = {
      (v.logical ? fmt::format("logical({})", v.type.size()) : type_in_fortran(v.type, at)) +
      (back ? ", intent(inout)" : ", intent(in)") + " :: moonloop_copy(*)"};
  o.statement = back ? fmt::format("moonloop_copy(:size({0})) = reshape({0}, [size({0})])", own)
                     : fmt::format("{0} = reshape(moonloop_copy(:size({0})), shape({0}))", own);
  if (back) o.changes.insert(0);
  if (in_program || r.home.is_in(v.outer->module))
    o.module = in_program ? kProgram : v.outer->module;
  else
    o.uses.insert("  use " + v.outer->module + ", only: " + v.outer->name + "\n");
  return o;
}

}  // namespace moonloop::fortran
