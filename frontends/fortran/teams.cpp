#include "frontends/fortran/teams.h"

#include <algorithm>
#include <map>

#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// Adds what a call of `callee` asks. Whether that is more.
bool add_team(Routine& r, const Routine& callee) {
  FortranTeam& own = r.home.team;
  const FortranTeam& other = callee.home.team;
  const FortranTeam before = own;
  if (!own.shares) own.at = other.at;
  own.shares |= other.shares;
  own.updates |= other.updates;
  own.loops_alone &= other.loops_alone;
  own.criticals.insert(own.criticals.end(), other.criticals.begin(), other.criticals.end());
  std::sort(own.criticals.begin(), own.criticals.end());
  own.criticals.erase(std::unique(own.criticals.begin(), own.criticals.end()), own.criticals.end());
  const bool more = !r.of_one_thread && callee.of_one_thread;
  if (more) r.of_one_thread = callee.of_one_thread;
  return more || before.shares != own.shares || before.updates != own.updates ||
         before.loops_alone != own.loops_alone || before.criticals != own.criticals;
}

}  // namespace

void settle_teams(const FortranOptions& how, std::vector<Routine>& routines) {
  if (how.openmp == false) {
    for (Routine& r : routines) r.home.team = {}, r.of_one_thread.reset();
    return;
  }
  std::map<std::string, const Routine*> asking;
  for (Routine& r : routines) {
    auto& c = r.home.team.criticals;
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
  }
  const auto asks = [](const Routine& r) {
    return r.home.team.shares || r.home.team.updates || !r.home.team.criticals.empty() ||
           r.of_one_thread;
  };
  for (bool more = true; more;) {
    more = false;
    asking.clear();
    for (const Routine& r : routines)
      if (asks(r)) asking.emplace(r.name, &r);
    if (asking.empty()) return;
    for (Routine& r : routines) {
      if (r.begins_team) continue;
      for (const auto& [n, at] : calls_of(r.body))
        if (const auto it = asking.find(n); it != asking.end() && it->second != &r)
          more = add_team(r, *it->second) || more;
    }
  }
  for (Routine& r : routines)  // without OpenMP, C would not know the pragma
    r.home.team.updates = r.home.team.updates && how.openmp.value_or(false);
  for (Routine& r : routines)
    if (how.openmp && r.of_one_thread && !r.home.team.shares && !r.begins_team)
      r.errors.push_back(
          {"unsupported",
           fmt::format("`{}` of threads whose `parallel` is not in the routine is not supported in "
                       "Fortran kernels",
                       r.of_one_thread->second),
           {r.of_one_thread->first, {}},
           {},
           {}});
}

}  // namespace moonloop::fortran
