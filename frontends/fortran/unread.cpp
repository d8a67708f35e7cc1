#include "frontends/fortran/unread.h"

#include <algorithm>
#include <iterator>

#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// Whether a function may do more than to give a value.
bool calls_function(const Expr& e) {
  bool calls = false;
  walk(e, [&](const Expr& x) {
    calls = calls || !called(x, kFunction).empty() || !called(x, kElemental).empty();
    return !calls;
  });
  return calls;
}

/// The name that a statement assigns, and nothing else; empty for other statements.
std::string assigned_by(const Statement& s) {
  const auto* a = std::get_if<Assignment>(&s.what);
  if (!a || !(a->to.as<Var>() || a->to.as<Load>())) return {};
  return calls_function(a->to) || calls_function(a->value) ? std::string() : written_name(a->to);
}

void collect_read(const Body& body, std::set<std::string>& out) {
  for (const Statement& s : body) {
    const std::string own = assigned_by(s);
    std::set<std::string> names;
    expressions(s, [&](const Expr& e) {
      const auto* a = std::get_if<Assignment>(&s.what);
      const bool place = a && e.same_as(a->to) && !own.empty();
      if (const auto* l = e && place ? e.as<Load>() : nullptr)
        for (const Expr& i : l->index) collect_reads(i, names);
      else if (e && !place)
        collect_reads(e, names);
    });
    out.merge(names);
    for (const auto* inner : bodies(s)) collect_read(**inner, out);
  }
}

/// Whether anything went.
bool erase_from(Body& body, const std::set<std::string>& unread,
                const std::set<std::string>& read) {
  const std::size_t before = body.size();
  bool inside = false;
  std::erase_if(body, [&](Statement& s) {
    if (unread.contains(assigned_by(s))) return true;
    bool less = false, empty = true;
    for (auto* inner : bodies(s)) {
      Body own = **inner;
      if (erase_from(own, unread, read)) {
        less = true;
        *inner = std::make_shared<Body>(std::move(own));
      }
      empty = empty && (*inner)->empty();
    }
    inside = inside || less;
    const auto* d = std::get_if<Do>(&s.what);  // whose variable may count behind it
    return less && empty && !std::holds_alternative<Scope>(s.what) &&
           !(d && read.contains(d->variable));
  });
  return inside || body.size() < before;
}

}  // namespace

void drop_unread(const std::set<std::string>& variables, Routine& routine) {
  if (variables.empty()) return;
  for (;;) {
    std::set<std::string> read, unread;
    collect_read(routine.body, read);
    for (const auto& [name, v] : routine.variables)
      for (const Bounds& b : v.bounds)
        for (const Expr& e : {b.lower, b.upper})
          if (e) collect_reads(e, read);
    std::set_difference(variables.begin(), variables.end(), read.begin(), read.end(),
                        std::inserter(unread, unread.end()));
    if (!erase_from(routine.body, unread, read)) return;
  }
}

}  // namespace moonloop::fortran
