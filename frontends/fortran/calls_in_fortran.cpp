#include "frontends/fortran/calls_in_fortran.h"

#include "core/model/external.h"
#include "frontends/fortran/effects.h"
#include "frontends/fortran/output.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// Whether a call that stays one may read or change variables of modules.
bool knows_variables(const SubroutineCall& c) {
  if (c.changes || c.name.starts_with(kIntrinsic)) return false;
  if (const Output* o = c.output.get()) return o->calls || !o->uses.empty() || !o->module.empty();
  const Effects* e = c.effects.get();
  return !e || !e->names.empty() || !e->changes.empty() || e->messages || e->follows || e->sets;
}

}  // namespace

bool has_fortran(const Body& b) {
  bool found = false;
  each(b, [&](const Statement& s) {
    const auto* c = std::get_if<SubroutineCall>(&s.what);
    found = found || (c && knows_variables(*c));
  });
  return found;
}

std::pair<std::string, Span> module_of_fortran(const Body& b) {
  std::pair<std::string, Span> out;
  each(b, [&](const Statement& s) {
    const auto* c = std::get_if<SubroutineCall>(&s.what);
    if (c && c->output && !c->output->module.empty()) out = {c->output->module, s.at};
  });
  return out;
}

}  // namespace moonloop::fortran
