#include "frontends/fortran/set_before_use.h"

#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

bool mentions(const Expr& e, const std::string& name) {
  if (!e) return false;
  std::set<std::string> names;
  collect_vars(e, names);
  collect_reads(e, names);
  return names.count(name) != 0;
}

std::size_t mentions(const Body& body, const std::string& name) {
  std::size_t n = 0;
  for (Statement s : body) {
    expressions(s, [&](const Expr& e) { n += mentions(e, name) ? 1 : 0; });
    if (const auto* d = std::get_if<Do>(&s.what)) n += d->variable == name ? 1 : 0;
    for (const auto* inner : bodies(s)) n += mentions(**inner, name);
  }
  return n;
}

bool is_set_before_use(const Body& body, const std::string& name, bool& set) {
  for (Statement s : body) {
    bool used = false;
    const auto* a = std::get_if<Assignment>(&s.what);
    expressions(s, [&](const Expr& e) {
      used = used || (!(a && e.as<Var>() && equal(e, a->to)) && mentions(e, name));
    });
    if (a && a->to.as<Var>()) used = mentions(a->value, name);
    if (used && !set) return false;
    if (a) set = set || written_name(a->to) == name;
    if (const auto* d = std::get_if<Do>(&s.what)) {
      set = set || d->variable == name;
      bool inside = set;
      if (!is_set_before_use(*d->body, name, inside)) return false;
    } else if (const auto* c = std::get_if<Choice>(&s.what)) {
      bool everywhere = !c->arms.empty() && !c->arms.back().condition;
      for (const Choice::Arm& arm : c->arms) {
        bool inside = set;
        if (!is_set_before_use(*arm.body, name, inside)) return false;
        everywhere = everywhere && inside;
      }
      set = set || everywhere;
    } else if (!a && !set && mentions(Body{s}, name) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace moonloop::fortran
