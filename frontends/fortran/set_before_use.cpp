#include "frontends/fortran/set_before_use.h"

#include <algorithm>

#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

bool mentions(const Expr& e, const std::string& name) {
  bool found = false;
  if (!e) return found;
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  walk(e, [&](const Expr& x) {
    if (found) return false;
    if (const auto* v = x.as<Var>()) found = v->name == name;
    if (const auto* l = x.as<Load>()) found = l->array == name;
    if (const auto* r = x.as<Reduce>()) found = among(r->inames);
    if (const auto* s = x.as<SubArray>()) found = among(s->inames);
    return !found;
  });
  return found;
}

std::size_t mentions(const Statement& s, const std::string& name) {
  std::size_t n = 0;
  expressions(s, [&](const Expr& e) { n += mentions(e, name) ? 1 : 0; });
  if (const auto* d = std::get_if<Do>(&s.what)) n += d->variable == name ? 1 : 0;
  for (const auto* inner : bodies(s)) n += mentions(**inner, name);
  return n;
}

std::size_t mentions(const Body& body, const std::string& name) {
  std::size_t n = 0;
  for (const Statement& s : body) n += mentions(s, name);
  return n;
}

namespace {

/// Whether a call may change the variable, and its arguments do not read it elsewhere.
bool may_set(const SubroutineCall& c, const std::string& name) {
  bool sets = false;
  for (std::size_t n = 0; n < c.arguments.size(); ++n) {
    const Expr& a = c.arguments[n];
    if (!mentions(a, name)) continue;
    const bool place = a.as<Var>() || a.as<Load>();
    if (!place || written_name(a) != name) return false;
    if (const auto* l = a.as<Load>())
      for (const Expr& i : l->index)
        if (mentions(i, name)) return false;
    if (!may_change_argument(c, n)) return false;
    sets = true;
  }
  return sets;
}

}  // namespace

ScalarFlow flow_of(const Body& body, const std::string& name, bool set, bool promised) {
  const ScalarFlow unset{true, false};
  for (const Statement& s : body) {
    const auto* call = promised ? std::get_if<SubroutineCall>(&s.what) : nullptr;
    if (call && may_set(*call, name)) {
      set = true;
      continue;
    }
    bool used = false;
    const auto* a = std::get_if<Assignment>(&s.what);
    expressions(s, [&](const Expr& e) {
      used = used || (!(a && e.as<Var>() && equal(e, a->to)) && mentions(e, name));
    });
    if (a && a->to.as<Var>()) used = mentions(a->value, name);
    if (used && !set) return unset;
    if (a) set = set || written_name(a->to) == name;
    if (const auto* d = std::get_if<Do>(&s.what)) {
      set = set || d->variable == name;
      const ScalarFlow inside = flow_of(*d->body, name, set, promised);
      if (inside.used_unset) return unset;
      set = set || (promised && inside.set);  // it has iterations, then
    } else if (const auto* c = std::get_if<Choice>(&s.what)) {
      bool everywhere = !c->arms.empty() && !c->arms.back().condition;
      for (const Choice::Arm& arm : c->arms) {
        const ScalarFlow inside = flow_of(*arm.body, name, set, promised);
        if (inside.used_unset) return unset;
        everywhere = everywhere && inside.set;
      }
      set = set || everywhere;
    } else if (!a && !set && mentions(s, name) != 0) {
      return unset;
    }
  }
  return {false, set};
}

}  // namespace moonloop::fortran
