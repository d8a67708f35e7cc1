#include "frontends/fortran/effects.h"

#include <algorithm>

#include "frontends/fortran/names.h"
#include "frontends/fortran/output.h"

namespace moonloop::fortran {
namespace {

bool is_pointed_at(const Variable& v) { return v.target || v.pointer; }

/// Whether it is among what gets other memory, or a part of that. Records stay where they are when
/// their parts get some.
bool is_moved(const std::set<std::string>& moves, const std::string& path) {
  return std::any_of(moves.begin(), moves.end(),
                     [&](const std::string& p) { return path == p || path.starts_with(p + "%"); });
}

}  // namespace

bool may_access(const Effects& e, const Variable& outer) {
  const std::string path = outer_path(outer);
  return path.empty() || (e.follows && is_pointed_at(outer)) || overlaps(e.names, path) ||
         may_change(e, outer);
}

bool may_change(const Effects& e, const Variable& outer) {
  const std::string path = outer_path(outer);
  return path.empty() || (e.sets && is_pointed_at(outer)) || (e.messages && outer.array) ||
         overlaps(e.changes, path);
}

bool may_move(const SubroutineCall& call, const Variable& outer, bool passed) {
  const std::string path = outer_path(outer);
  if (call.changes) return false;
  if (call.output && is_moved(call.output->moves, path)) return true;
  if (call.effects && !path.empty()) return is_moved(call.effects->moves, path);
  if (call.output ? !call.output->calls : call.name.starts_with("mpi_")) return false;
  return (outer.allocatable || outer.pointer) && !passed && may_change(call, outer);
}

bool may_access(const SubroutineCall& call, const Variable& outer) {
  if (may_change(call, outer)) return true;
  const bool asks = call.effects && outer.outer && !outer.constant && !is_ours(outer) &&
                    (!call.output || call.output->calls);
  return asks && may_access(*call.effects, outer);
}

}  // namespace moonloop::fortran
