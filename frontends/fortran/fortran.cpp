#include "frontends/fortran/fortran.h"

#include "core/diagnostic.h"
#include "frontends/fortran/program.h"

namespace moonloop {

bool is_fortran(const std::string& path) {
  for (const char* end : {".f90", ".F90", ".f", ".F", ".for"})
    if (path.ends_with(end)) return true;
  return false;
}

#ifdef MOONLOOP_FORTRAN
FortranFile parse_fortran(const Source* source,
                          const std::vector<std::pair<std::string, std::string>>& defines) {
  const fortran::Blocks blocks = fortran::read_blocks(source);
  FortranFile out;
  std::vector<Diagnostic> errors;
  for (const fortran::Routine& r : fortran::read_routines(source, {defines, {}})) try {
      out.kernels.push_back(fortran::lower(r, blocks));
    } catch (const Error& e) {
      errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  if (!errors.empty()) throw Error(errors);
  for (const fortran::Block& b : blocks.transforms)
    out.transforms.push_back(fortran::transform_text(source, b));
  return out;
}
#else
FortranFile parse_fortran(const Source* source,
                          const std::vector<std::pair<std::string, std::string>>&) {
  fail("unsupported", {}, "this moonloop is built without Fortran, which `{}` is", source->name);
}
#endif

}  // namespace moonloop
