#include <fmt/ranges.h>

#include "codegen/print/fortran_names.h"
#include "core/base/diagnostic.h"

namespace moonloop::fortran_side {
namespace {

/// Variables of which each thread that calls the routine has its own, and that the routine changes:
/// numbers, its result, and those that are `threadprivate`. Arrays are taken to be common.
std::vector<std::string> own_of_threads(const Called& p) {
  std::vector<std::string> out;
  for (const Parameter& a : p.params) {
    const bool result = a.fortran.role == FortranRole::Result;
    const bool per_thread = a.fortran.outer && a.fortran.outer->per_thread;
    if (per_thread && a.intent != Intent::Out)
      fail("unsupported", a.at,
           "`{}`: `{}`, which each thread has for itself, in a routine whose work one of them does "
           "for all",
           p.kernel, a.name);
    if (!a.is_array || a.fortran.text || a.fortran.component) continue;
    const bool number =
        a.shape.empty() && !a.fortran.outer && a.fortran.pointer.empty() && !a.fortran.allocatable;
    if (a.intent == Intent::In || (!result && !per_thread && !number)) continue;
    if (a.fortran.optional)
      fail("unsupported", a.at,
           "`{}`: the optional argument `{}`, which a routine changes whose work threads share",
           p.kernel, a.name);
    out.push_back(passed_name(p, a));
  }
  return out;
}

}  // namespace

std::pair<std::string, std::string> by_one_thread(const Called& p) {
  const FortranTeam& team = p.around.team;
  std::string begin, end;
  if (team.shares && !p.loops_of_team) {
    const std::vector<std::string> own = own_of_threads(p);
    begin = "  !$omp barrier\n  !$omp single\n";
    end = "  !$omp end single";
    if (!own.empty()) end += fmt::format(" copyprivate({})", fmt::join(own, ", "));
    end += "\n";
  }
  for (const std::string& c : team.criticals) {
    const std::string name = c.empty() ? "" : " (" + c + ")";
    begin += "  !$omp critical" + name + "\n";
    end = "  !$omp end critical" + name + "\n" + end;
  }
  if (!begin.empty() && (!p.around.alternates.empty() || p.around.pure))
    fail("unsupported", {}, "`{}`: {} a routine whose work threads share", p.kernel,
         p.around.pure ? "`pure` for" : "alternate returns of");
  return {begin, end};
}

}  // namespace moonloop::fortran_side
