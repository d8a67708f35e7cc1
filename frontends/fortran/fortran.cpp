#include "frontends/fortran/fortran.h"

#include <algorithm>

#include "core/diagnostic.h"
#include "frontends/fortran/program.h"

namespace moonloop {

bool is_fortran(const std::string& path) {
  for (const char* end : {".f90", ".F90", ".f", ".F", ".for"})
    if (path.ends_with(end)) return true;
  return false;
}

#ifdef MOONLOOP_FORTRAN
FortranFile parse_fortran(const Source* source, const FortranOptions& options) {
  const fortran::Blocks blocks = fortran::read_blocks(source);
  FortranFile out;
  std::vector<Diagnostic> errors;
  std::vector<std::pair<int, std::string>> steps;
  for (const fortran::Routine& r : fortran::inline_calls(fortran::read_routines(source, options)))
    try {
      fortran::Lowered lowered = fortran::lower(r, blocks);
      out.kernels.push_back(std::move(lowered.kernel));
      for (auto& s : lowered.steps)
        steps.emplace_back(s.first, std::string(static_cast<std::size_t>(s.first - 1), '\n') +
                                        std::move(s.second));
    } catch (const Error& e) {
      errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  if (!errors.empty()) throw Error(errors);
  for (const fortran::Block& b : blocks.transforms)
    steps.emplace_back(b.first, fortran::transform_text(source, b));
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& s : steps) out.transforms.push_back(std::move(s.second));
  return out;
}
#else
FortranFile parse_fortran(const Source* source, const FortranOptions&) {
  fail("unsupported", {}, "this moonloop is built without Fortran, which `{}` is", source->name);
}
#endif

}  // namespace moonloop
