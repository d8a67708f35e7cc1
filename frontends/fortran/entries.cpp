#include "frontends/fortran/entries.h"

#include <algorithm>
#include <functional>

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Each entry of a subprogram as a routine of its own.
namespace moonloop::fortran {
namespace {

// ---- The statements that run.

/// Whether what follows a statement may run after it.
bool goes_on(const Statement& s) {
  if (std::holds_alternative<Leave>(s.what) || std::holds_alternative<Jump>(s.what)) return false;
  const auto* c = std::get_if<Choice>(&s.what);
  if (!c || c->arms.empty() || c->arms.back().condition) return true;
  return std::any_of(c->arms.begin(), c->arms.end(), [](const Choice::Arm& a) {
    return a.body->empty() || goes_on(a.body->back());
  });
}

template <typename F>
void all_statements(const Body& b, const F& visit) {
  for (Statement s : b) {
    visit(s);
    for (const auto* inner : bodies(s)) all_statements(**inner, visit);
  }
}

/// What runs from a label on: with a jump to it where statements before it run, too.
Body reached(const Body& all, const std::optional<std::uint64_t>& from) {
  std::map<std::uint64_t, std::size_t> places;
  std::vector<std::vector<std::uint64_t>> jumps(all.size());
  for (std::size_t n = 0; n < all.size(); ++n)
    all_statements({all[n]}, [&](const Statement& s) {
      if (const auto* m = std::get_if<Mark>(&s.what)) places.emplace(m->label, n);
      if (const auto* j = std::get_if<Jump>(&s.what)) jumps[n].push_back(j->label);
    });
  const std::size_t first = from ? places.at(*from) : 0;
  std::vector<bool> runs(all.size());
  std::vector<std::size_t> queue{first};
  while (!queue.empty()) {
    const std::size_t n = queue.back();
    queue.pop_back();
    if (n >= all.size() || runs[n]) continue;
    runs[n] = true;
    if (goes_on(all[n])) queue.push_back(n + 1);
    for (const std::uint64_t label : jumps[n])
      if (const auto it = places.find(label); it != places.end()) queue.push_back(it->second);
  }
  Body out;
  if (std::find(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(first), true) !=
      runs.begin() + static_cast<std::ptrdiff_t>(first))
    out.push_back({all[first].at, Jump{*from}});
  for (std::size_t n = 0; n < all.size(); ++n)
    if (runs[n]) out.push_back(all[n]);
  return out;
}

// ---- Their variables.

std::set<std::string> names_of(const Body& b) {
  std::set<std::string> out;
  all_statements(b, [&](Statement& s) {
    expressions(s, [&](const Expr& e) {
      if (e) collect_vars(e, out), collect_reads(e, out);
    });
    if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
    if (const auto* f = std::get_if<Forall>(&s.what))
      out.insert(f->locals.begin(), f->locals.end());
    if (const auto* p = std::get_if<PointerAssignment>(&s.what)) out.insert(p->pointer);
  });
  return out;
}

/// With those in the bounds of these.
std::set<std::string> with_bounds(std::set<std::string> names, const Routine& r) {
  for (std::size_t known = 0; known != names.size();) {
    known = names.size();
    for (const auto& [name, v] : r.variables)
      for (const Bounds& b : v.bounds)
        for (const Expr& e : {b.lower, b.upper})
          if (e && names.contains(name)) collect_vars(e, names), collect_reads(e, names);
  }
  return names;
}

/// The variable as the source has it: that of a component.
const std::string& declared_name(const Variable& v) {
  return v.component ? v.component->of : v.name;
}

bool same_type(const Variable& a, const Variable& b) {
  return a.type == b.type && a.logical == b.logical && a.character == b.character &&
         a.bounds.empty() && b.bounds.empty();
}

/// The results of functions are one variable.
void share_result(Routine& r, const std::vector<EntryPoint>& all, std::size_t own) {
  const std::string& result = all[own].result;
  for (const EntryPoint& other : all) {
    if (other.result.empty() || other.result == result) continue;
    const auto it = r.variables.find(other.result);
    if (it == r.variables.end()) continue;
    const Variable v = it->second;
    if (names_of(r.body).contains(v.name)) {
      const auto mine = r.variables.find(result);
      if (mine == r.variables.end() || !same_type(mine->second, v))
        fail("unsupported", v.at,
             "`{}`, the result of another entry and of another type, is not supported in `{}`",
             v.name, all[own].name);
      rename_in(r.body, {{v.name, result}});
    }
    r.variables.erase(v.name);
  }
}

/// The variables that statements, and functions in them, may change.
std::set<std::string> all_changed_in(const Body& b) {
  std::set<std::string> out = changed_in(b);
  all_statements(b, [&](Statement& s) {
    expressions(s, [&](const Expr& e) {
      if (!e) return;
      walk(e, [&](const Expr& x) {
        if (!called(x, kFunction).empty() || !called(x, kElemental).empty() ||
            !called(x, kArrayFunction).empty())
          collect_reads(x, out);
        return true;
      });
    });
  });
  return out;
}

/// A call would find the value that a call of another entry has left.
void refuse_shared(const Routine& r, const Body& whole, const std::vector<EntryPoint>& all,
                   std::size_t own) {
  const std::set<std::string> mine = names_of(r.body), changed = all_changed_in(whole);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (n == own) continue;
    const std::set<std::string> theirs = names_of(reached(whole, all[n].label));
    for (const auto& [name, v] : r.variables)
      if (v.saved && !v.outer && !v.dummy && mine.contains(name) && theirs.contains(name) &&
          changed.contains(name))
        fail("unsupported", v.at,
             "`{}`, which keeps its value from call to call and which the entries `{}` and `{}` "
             "use, is not supported in Fortran kernels",
             name, all[own].name, all[n].name);
  }
}

/// Arguments that only other entries have, and ours about them.
void drop_others(Routine& r, const std::vector<EntryPoint>& all, std::size_t own,
                 const std::string& way) {
  const std::set<std::string> used = with_bounds(names_of(r.body), r);
  std::set<std::string> gone;
  for (const auto& [name, v] : r.variables) {
    if (!v.dummy || v.outer || v.result || is_ours(v)) continue;
    if (all[own].arguments.contains(declared_name(v)) || name == way) continue;
    if (used.contains(name))
      fail("unsupported", v.at,
           "`{}`, which is not an argument of `{}` and which its statements may use, is not "
           "supported in Fortran kernels",
           name, all[own].name);
    gone.insert(name);
    for (const Bounds& b : v.bounds)
      if (const std::string extent = extent_of(b, r); !extent.empty()) gone.insert(extent);
  }
  std::erase_if(r.variables, [&](const auto& entry) {
    const Variable& v = entry.second;
    for (const std::string& n : {v.name, v.lower_of, v.present_of, v.memory_of})
      if (gone.contains(n)) return true;
    if (v.dummy || used.contains(v.name)) return false;
    for (const Bounds& b : v.bounds)  // nothing uses it either
      for (const Expr& e : {b.lower, b.upper}) {
        std::set<std::string> names;
        if (e) collect_vars(e, names);
        for (const std::string& n : names)
          if (gone.contains(n)) return true;
      }
    return false;
  });
}

}  // namespace

void begin_at(Routine& r, const std::vector<EntryPoint>& all, std::size_t own,
              const std::string& way) {
  const Body whole = r.body;
  r.body = reached(whole, all.at(own).label);
  if (!way.empty() && !all[own].has_alternates && names_of(r.body).contains(way))
    fail(
        "unsupported", r.at,
        "`{}` reaches a `return` to another of the caller's labels, of which it has none, which is "
        "not supported in Fortran kernels",
        all[own].name);
  refuse_shared(r, whole, all, own);
  share_result(r, all, own);
  drop_others(r, all, own, way);
}

}  // namespace moonloop::fortran
