#include "codegen/plan/team_conflicts.h"

namespace moonloop {

bool TeamConflicts::cross(const StatementAccess& x, const StatementAccess& y,
                          const std::vector<std::string>& team,
                          const std::vector<std::string>& outer) {
  if (x.variable != y.variable || (!x.write && !y.write)) return false;
  if (equal(x.index, y.index) && conflicts_.tells(x.index, team)) return false;
  if (plainly_apart(x, y)) return false;
  if (commuting_.commute(insn(x.insn), insn(y.insn), x.variable)) return false;
  Conflicts::Values members;
  for (const std::string& i : team)
    if (insn(x.insn).inames.contains(i) && insn(y.insn).inames.contains(i))
      members.emplace_back(var(i), var(i));
  if (const auto known = conflicts_.plainly_agree(x, y, outer, {}, {}, &members)) return !*known;
  bool apart = false;
  questions_.ask([&] {
    const Map pairs = conflicts_.in_equal(conflicts_.pairs(x, y).all, x, y, outer);
    const Map met = conflicts_.in_different(pairs, x, y, team);
    apart = yes(isl_map_is_empty(met.get()));
  });
  return !apart;
}

}  // namespace moonloop
