#include "frontends/fortran/entry_values.h"

#include "frontends/fortran/names.h"

// Bounds are what their variables say when the routine is called, whatever it assigns afterwards.
namespace moonloop::fortran {
namespace {

/// An integer argument that the routine may assign.
bool may_change(const Routine& r, const std::string& name, const std::set<std::string>& assigned) {
  const auto it = r.variables.find(name);
  if (it == r.variables.end()) return false;
  const Variable& v = it->second;
  return v.dummy && !v.host && !v.array && is_integer(v.type.scalar) && v.entry_of.empty() &&
         !v.extent &&
         (assigned.count(name) || v.intent == Intent::Out || v.intent == Intent::InOut);
}

}  // namespace

Expr value_at_entry(Routine& r, const std::string& name) {
  for (const auto& [own, v] : r.variables)
    if (v.entry_of == name && !v.host) return var(own, v.at);
  Variable v = r.variables.at(name);
  v.name = fresh_name(r, name + "_at_entry");
  v.value = true;
  v.intent = Intent::In;
  v.entry_of = name;
  const Expr out = var(v.name, v.at);
  r.variables.emplace(v.name, std::move(v));
  return out;
}

void keep_entry_values(Routine& r, const std::set<std::string>& assigned) {
  std::set<std::string> names, changed;
  for (const auto& [name, v] : r.variables)
    for (const Bounds& b : v.bounds)
      for (const Expr* e : {&b.lower, &b.upper})
        if (*e) collect_vars(*e, names);
  std::map<std::string, Expr> at_entry;
  for (const std::string& n : names)
    if (may_change(r, n, assigned)) at_entry.emplace(n, value_at_entry(r, n));
  if (at_entry.empty()) return;
  for (auto& [name, v] : r.variables)
    for (Bounds& b : v.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = substitute(*e, at_entry);
}

void settle_entry_values(Routine& r) {
  const Uses uses = uses_of(r);
  std::set<std::string> assigned = uses.assigned;
  assigned.insert(uses.loops.begin(), uses.loops.end());
  std::map<std::string, std::string> same;
  for (const auto& [name, v] : r.variables)
    if (!v.entry_of.empty()) {
      if (may_change(r, v.entry_of, assigned))
        r.arguments.push_back(name);
      else
        same.emplace(name, v.entry_of);
    }
  if (same.empty()) return;
  rename_in(r.body, same);
  for (auto& [name, v] : r.variables)
    for (Bounds& b : v.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = rename(*e, same);
  for (const auto& [name, of] : same) r.variables.erase(name);
}

}  // namespace moonloop::fortran
