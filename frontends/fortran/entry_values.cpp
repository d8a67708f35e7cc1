#include "frontends/fortran/entry_values.h"

#include "core/model/external.h"
#include "frontends/fortran/effects.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"

// Bounds have the values of their variables at the call, whatever the routine assigns afterwards.
namespace moonloop::fortran {
namespace {

/// An integer argument that the routine may assign.
bool may_change(const Routine& r, const std::string& name, const std::set<std::string>& assigned) {
  const auto it = r.variables.find(name);
  if (it == r.variables.end()) return false;
  const Variable& v = it->second;
  return v.dummy && !v.host && !v.array && is_integer(v.type.scalar) && !is_ours(v) &&
         !v.optional &&
         (assigned.count(name) || v.intent == Intent::Out || v.intent == Intent::InOut);
}

/// Stands for all outer variables, which a routine of another file may change.
constexpr const char* kAllOuter = "|all";

/// Before a variable of a module, by its path.
constexpr const char* kPath = "path|";
/// Stands for all outer variables that pointers may point at.
constexpr const char* kTargets = "|targets";

/// `name` of `r` was assigned: the variable, and what it is elsewhere.
void note(const std::string& name, const Routine& r, std::set<std::string>& out) {
  out.insert(name);
  if (const auto it = r.variables.find(name); it != r.variables.end() && it->second.outer)
    out.insert(outer_key(it->second));
}

}  // namespace

AssignedNames::AssignedNames(const std::vector<Routine>& all, bool calls_may_stay)
    : all_(all), calls_may_stay_(calls_may_stay) {
  for (bool more = true; more;) {  // until calls in a circle add nothing
    more = false;
    for (const Routine& r : all) {
      std::set<std::string>& known = by_routine_[r.name];
      const std::size_t before = known.size();
      if (r.errors.empty()) add(r.body, r, known);
      more = more || known.size() > before;
    }
  }
}

std::set<std::string> AssignedNames::of(const Routine& r) const {
  std::set<std::string> out = by_routine_.at(r.name);
  for (const Routine& inner : all_)
    if (inner.host == r.name) out.merge(of(inner));
  return out;
}

std::set<std::string> AssignedNames::of(const Body& body, const Routine& r) const {
  std::set<std::string> out;
  add(body, r, out);
  return out;
}

void AssignedNames::add(const Body& body, const Routine& r, std::set<std::string>& out) const {
  for (const Statement& s : body) {
    if (const auto* a = std::get_if<Assignment>(&s.what)) note(written_name(a->to), r, out);
    if (const auto* d = std::get_if<Do>(&s.what)) note(d->variable, r, out);
    if (const auto* x = std::get_if<SubroutineCall>(&s.what); x && !x->output) {
      add_call(x->name, x->arguments, r, out);
      if (x->result) note(written_name(x->result), r, out);
      for (const SubroutineCall& other : x->otherwise)
        if (calls_may_stay_) note_effects(other.effects.get(), r, out);
    } else if (x) {
      for (std::size_t n = 0; n < x->arguments.size(); ++n)
        if (const Expr place = place_of(x->arguments[n], r); place && may_change_argument(*x, n))
          note(written_name(place), r, out);
      if (x->output->calls) note_effects(x->effects.get(), r, out);
      for (const auto& [name, v] : r.variables)
        if (overlaps(x->output->accesses, outer_path(v))) note(name, r, out);
    }
    expressions(s, [&](const Expr& e) {
      if (e)
        walk(e, [&](const Expr& x) {
          const std::string name =
              called(x, kFunction) + called(x, kElemental) + called(x, kArrayFunction);
          if (!name.empty()) add_call(name, x.as<Call>()->args, r, out);
          return true;
        });
    });
    for (const auto* inner : bodies(s)) add(**inner, r, out);
  }
}

/// Arrays count for no bounds, so that what MPI changes is of no interest.
void AssignedNames::note_all_outer(const Routine& r, std::set<std::string>& out) {
  out.insert(kAllOuter);
  for (const auto& [name, v] : r.variables)
    if (v.outer) note(name, r, out);
}

void AssignedNames::note_path(const std::string& path, const Routine& r,
                              std::set<std::string>& out) {
  out.insert(path);
  const std::set<std::string> one{path.substr(std::string_view(kPath).size())};
  for (const auto& [name, v] : r.variables)
    if (overlaps(one, outer_path(v))) note(name, r, out);
}

/// What is called may have these effects; null: any.
void AssignedNames::note_effects(const Effects* e, const Routine& r, std::set<std::string>& out) {
  if (!e) return note_all_outer(r, out);
  for (const std::string& path : e->changes) note_path(kPath + path, r, out);
  if (e->sets) out.insert(kTargets);
  for (const auto& [name, v] : r.variables)
    if (v.outer && (outer_path(v).empty() || (e->sets && (v.target || v.pointer))))
      note(name, r, out);
}

void AssignedNames::add_call(const std::string& name, const Exprs& arguments, const Routine& r,
                             std::set<std::string>& out) const {
  if (name.starts_with(kIntrinsic)) return;
  const Routine* f = find_routine(all_, name);
  const Effects* effects = f ? f->effects.get() : nullptr;
  if (f && !f->errors.empty()) f = nullptr;  // what it does to its arguments is not known
  const std::set<std::string>* assigned = nullptr;
  if (f) {
    if (const auto it = by_routine_.find(f->name); it != by_routine_.end()) assigned = &it->second;
    if (!assigned) return;  // not looked at yet
    for (const std::string& n : *assigned) {
      const bool outer = n.find('|') != std::string::npos;
      if (outer) out.insert(n);
      if (n.starts_with(kPath)) note_path(n, r, out);
      for (const auto& [own, v] : r.variables)
        if (n == kTargets && v.outer && (v.target || v.pointer)) note(own, r, out);
      if (const Variable* v = outer ? find_outer(r, n) : nullptr) out.insert(v->name);
      // Of the routine around both.
      if (!f->host.empty() && (!f->variables.count(n) || f->variables.at(n).host)) out.insert(n);
    }
    if (assigned->count(kAllOuter)) note_all_outer(r, out);
    if (effects || calls_may_stay_) note_effects(effects, r, out);
  } else if (!name.starts_with("mpi_")) {
    note_effects(effects, r, out);
  }
  const std::vector<const Variable*> dummies = f ? dummies_of(*f) : std::vector<const Variable*>();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Expr place = place_of(arguments[i], r);
    if (!place) continue;
    if (f && i < dummies.size()) {
      if (assigned->count(dummies[i]->name)) note(written_name(place), r, out);
      continue;
    }
    const auto it = r.variables.find(written_name(place));
    if (it == r.variables.end() ||
        (it->second.intent != Intent::In && !it->second.constant && !it->second.value))
      note(written_name(place), r, out);
  }
}

Expr value_at_entry(Routine& r, const std::string& name) {
  for (const auto& [own, v] : r.variables)
    if (v.entry_of == name && !v.host) return var(own, v.at);
  Variable v = r.variables.at(name);
  v.name = fresh_name(r, fortran_name("", name, "_at_entry"));
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
  for (const auto& [name, v] : r.variables) {
    // Of a record that Fortran keeps, which is no argument of the kernel.
    if (v.value && v.component && r.boxed.contains(v.component->of)) r.arguments.push_back(name);
    if (!v.entry_of.empty()) {
      if (may_change(r, v.entry_of, assigned))
        r.arguments.push_back(name);
      else
        same.emplace(name, v.entry_of);
    }
  }
  if (same.empty()) return;
  rename_in(r.body, same);
  for (auto& [name, v] : r.variables) {
    if (v.room) v.room = rename(v.room, same);
    for (Bounds& b : v.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = rename(*e, same);
  }
  for (const auto& [name, of] : same) r.variables.erase(name);
}

}  // namespace moonloop::fortran
