#include "frontends/fortran/stops.h"

#include "frontends/fortran/names.h"
#include "frontends/fortran/uses.h"

// Statements that end the program.
namespace moonloop::fortran {
namespace {

void set_at_stops(Body& b, const Expr& flag) {
  for (std::size_t n = 0; n < b.size(); ++n) {
    for (auto* inner : bodies(b[n])) set_at_stops(**inner, flag);
    if (!std::holds_alternative<Stop>(b[n].what)) continue;
    const Span at = b[n].at;
    b.insert(b.begin() + static_cast<std::ptrdiff_t>(n++),
             {at, Assignment{flag, Expr(BoolLit{true}, at)}});
  }
}

}  // namespace

bool may_stop(const Body& b) {
  bool found = false;
  each(b, [&](const Statement& s) { found = found || std::holds_alternative<Stop>(s.what); });
  return found;
}

std::string say_where_stopped(Routine& f) {
  const Expr flag = new_scalar(f, "stopped", moonloop::Scalar::Bool, f.at);
  rename_in(f.body, {});  // a body of its own
  set_at_stops(f.body, flag);
  f.body.insert(f.body.begin(), {f.at, Assignment{flag, Expr(BoolLit{false}, f.at)}});
  return flag.as<Var>()->name;
}

}  // namespace moonloop::fortran
