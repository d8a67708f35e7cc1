#include "frontends/fortran/defaults.h"

#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

std::set<std::string> names_in(const Body& body) {
  std::set<std::string> out;
  for (const Statement& s : body) {
    expressions(s, [&](const Expr& e) {
      if (e) collect_reads(e, out);
    });
    if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
    if (const auto* p = std::get_if<PointerAssignment>(&s.what)) out.insert(p->pointer);
    for (const auto* inner : bodies(s)) out.merge(names_in(**inner));
  }
  return out;
}

std::set<std::string> names_in(const Routine& r) {
  std::set<std::string> out = names_in(r.body);
  for (const auto& [name, v] : r.variables)
    for (const Bounds& b : v.bounds)
      for (const Expr& e : {b.lower, b.upper})
        if (e) collect_reads(e, out);
  return out;
}

void set_defaults(Routine& routine, std::size_t first, bool all, Body& body) {
  const std::set<std::string> used = names_in(body);
  Body out;
  for (std::size_t n = first; n < routine.defaults.size(); ++n) {
    Statement& s = routine.defaults[n];
    const auto* a = std::get_if<Assignment>(&s.what);
    const std::string name = a ? written_name(a->to) : std::get<PointerAssignment>(s.what).pointer;
    const auto v = routine.variables.find(name);
    const bool caller = v != routine.variables.end() && v->second.dummy;
    if (all || caller || used.contains(name)) out.push_back(std::move(s));
  }
  routine.defaults.resize(first);
  append(std::move(body), out);
  body = std::move(out);
}

}  // namespace moonloop::fortran
