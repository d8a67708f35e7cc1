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

ScalarFlow flow_of(const Body& body, const std::string& name, bool set) {
  const ScalarFlow unset{true, false};
  for (const Statement& s : body) {
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
      if (flow_of(*d->body, name, set).used_unset) return unset;
    } else if (const auto* c = std::get_if<Choice>(&s.what)) {
      bool everywhere = !c->arms.empty() && !c->arms.back().condition;
      for (const Choice::Arm& arm : c->arms) {
        const ScalarFlow inside = flow_of(*arm.body, name, set);
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
