#include "frontends/fortran/regions.h"

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/uses.h"

// What directives around statements mean for these.
namespace moonloop::fortran {

void share(const Directive::Reduction& r, Statement& s) {
  auto* made = std::get_if<Do>(&s.what);
  if (!made || !made->directive || made->directive->tag == "simd") return;
  bool here = false;
  each(*made->body, [&](const Statement& inner) {
    const auto* a = std::get_if<Assignment>(&inner.what);
    here = here || (a && written_name(a->to) == r.variable);
  });
  if (!here) return;
  Directive with = *made->directive;
  with.tag = "par";  // groups share none
  with.reductions.push_back(r);
  made->directive = std::make_shared<const Directive>(std::move(with));
}

Span assigned_alone(const Body& body, const std::string& variable) {
  for (const Statement& s : body) {
    if (const auto* a = std::get_if<Assignment>(&s.what); a && written_name(a->to) == variable)
      return s.at;
    if (const auto* d = std::get_if<Do>(&s.what); d && d->directive) continue;
    for (const auto* inner : bodies(s))
      if (const Span at = assigned_alone(**inner, variable)) return at;
  }
  return {};
}

Span asks_who_runs(const Body& body) {
  Span found;
  each(body, [&](Statement s) {
    const auto look = [&](const std::string& name) {
      if (name.starts_with("omp_")) found = s.at;
    };
    if (const auto* c = std::get_if<SubroutineCall>(&s.what)) look(c->name);
    expressions(s, [&](const Expr& e) {
      if (e)
        walk(e, [&](const Expr& part) {
          look(called(part, kFunction));
          return true;
        });
    });
  });
  return found;
}

std::shared_ptr<const Directive> renamed(
    const Directive& d, const std::function<std::string(const std::string&)>& name) {
  Directive out = d;
  for (auto* names :
       {&out.firstprivate, &out.privates, &out.lastprivates, &out.given, &out.per_thread}) {
    for (std::string& n : *names) n = name(n);
    std::erase(*names, "");
  }
  for (Directive::Reduction& r : out.reductions) r.variable = name(r.variable);
  std::erase_if(out.reductions, [](const auto& r) { return r.variable.empty(); });
  return std::make_shared<const Directive>(std::move(out));
}

namespace {

/// The operation by which all statements that have the variable accumulate into it; empty where
/// some do something else.
std::string accumulation(const Body& body, const std::string& variable) {
  std::string op;
  bool only = true;
  each(body, [&](Statement s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    if (a && written_name(a->to) == variable) {
      const std::string own = update_of(*a);
      only = only && !own.empty() && (op.empty() || op == own);
      op = own;
      return;
    }
    const auto* d = std::get_if<Do>(&s.what);
    only = only && !(d && d->variable == variable);
    expressions(s, [&](const Expr& e) { only = only && !(e && mentions(e, variable)); });
  });
  return only ? op : "";
}

/// The variables that statements outside of loops with directives assign, or calls there may
/// change.
void collect_set_beside_loops(Body& body, std::set<std::string>& out) {
  for (Statement& s : body) {
    if (const auto* d = std::get_if<Do>(&s.what); d && d->directive) continue;
    if (const auto* a = std::get_if<Assignment>(&s.what)) out.insert(written_name(a->to));
    if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
    if (std::holds_alternative<SubroutineCall>(s.what)) out.merge(changed_in({s}));
    for (auto* inner : bodies(s)) collect_set_beside_loops(**inner, out);
  }
}

bool assigns_itself(Body& body, const std::string& name) {
  return std::any_of(body.begin(), body.end(), [&](Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    const auto* d = std::get_if<Do>(&s.what);
    if ((a && written_name(a->to) == name) || (d && d->variable == name)) return true;
    const auto inner = bodies(s);
    return std::any_of(inner.begin(), inner.end(),
                       [&](auto* b) { return assigns_itself(**b, name); });
  });
}

/// What a private variable of a region is to a loop in it that may change it.
void share_private(const std::string& name, bool set_before, bool known, Do& loop, Directive& own) {
  Body& body = *loop.body;
  if (!flow_of(body, name, false, !set_before).used_unset) return own.privates.push_back(name);
  if (set_before && !assigns_itself(body, name)) return own.given.push_back(name);
  // Each thread's part of a sum, which goes to the whole one after the loop.
  const std::string op = known && own.tag != "simd" ? accumulation(body, name) : "";
  if (op.empty()) return own.per_thread.push_back(name);
  if (own.tag == "g") own.tag = "par";  // groups share none
  own.reductions.push_back({op, name});
}

void share_privates(const Routine& routine, const Directive& region,
                    const std::set<std::string>& set_before, Body& body) {
  for (Statement& s : body) {
    if (auto* d = std::get_if<Do>(&s.what); d && d->directive) {
      Directive own = *d->directive;
      for (const std::string& name : region.privates)
        // Also where it is set only deeper inside, by loops that may have no iterations.
        if (changed_in(*d->body).contains(name))
          share_private(name, set_before.contains(name), routine.variables.count(name) > 0, *d,
                        own);
      d->directive = std::make_shared<const Directive>(std::move(own));
    }
    for (auto* inner : bodies(s)) share_privates(routine, region, set_before, **inner);
  }
}

}  // namespace

void share_privates(const Routine& routine, const Directive& region, Body& body) {
  if (region.privates.empty()) return;
  std::set<std::string> set_before;
  collect_set_beside_loops(body, set_before);
  share_privates(routine, region, set_before, body);
}

void keep_firstprivate(const Directive& d, Routine& routine, Body& body) {
  std::map<std::string, std::string> own;
  Body before;
  for (const std::string& name : d.firstprivate) {
    const auto it = routine.variables.find(name);
    if (it == routine.variables.end() || !changed_in(body).contains(name)) continue;
    if (it->second.character || it->second.box)
      fail("unsupported", d.at,
           "`firstprivate` of `{}`, which is assigned there, is not supported in Fortran kernels",
           name);
    const std::string copy = fresh_name(routine, name);
    routine.variables.emplace(copy, local_like(Variable(it->second), copy));
    own.emplace(name, copy);
    before.push_back({d.at, Assignment{var(copy, d.at), var(name, d.at)}});
  }
  if (own.empty()) return;
  rename_in(body, own);
  body.insert(body.begin(), before.begin(), before.end());
}

std::string update_of(const Assignment& a) {
  const auto* n = a.value.as<Nary>();
  const auto* c = a.value.as<Call>();
  const std::string op = n && n->op == NaryOp::Add                     ? "+"
                         : n && n->op == NaryOp::Mul                   ? "*"
                         : c && (c->name == "min" || c->name == "max") ? c->name
                                                                       : "";
  if (op.empty()) return op;
  const std::string& name = written_name(a.to);
  std::size_t own = 0, all = 0;
  for (const Expr& e : n ? n->terms : c->args) {
    own += equal(e, a.to) ? 1 : 0;
    all += mentions(e, name) ? 1 : 0;
  }
  if (const auto* l = a.to.as<Load>())
    for (const Expr& i : l->index) all += mentions(i, name) ? 1 : 0;
  return own == 1 && all == 1 ? op : "";
}

void note_per_thread(Routine& r) {
  const std::function<void(Body&)> visit = [&](Body& body) {
    for (Statement& s : body) {
      if (auto* d = std::get_if<Do>(&s.what); d && d->directive) {
        Directive own = *d->directive;
        for (const std::string& name : changed_in(*d->body)) {
          const auto it = r.variables.find(name);
          if (it == r.variables.end()) continue;
          const Variable& v = it->second;
          if (v.outer ? !v.outer->per_thread : !own.orphaned || !v.array || v.dummy || v.saved)
            continue;
          own.per_thread.push_back(name);
          if (v.outer && !v.array && !flow_of(*d->body, name).used_unset)
            own.lastprivates.push_back(name);
        }
        d->directive = std::make_shared<const Directive>(std::move(own));
      }
      for (auto* inner : bodies(s)) visit(**inner);
    }
  };
  visit(r.body);
}

std::set<std::string> changed_in(const Body& body) {
  std::set<std::string> out;
  const auto place = [&](const Expr& e) {
    if (e && (e.as<Var>() || e.as<Load>())) out.insert(written_name(e));
  };
  std::function<void(const Body&)> visit = [&](const Body& b) {
    for (const Statement& s : b) {
      if (const auto* a = std::get_if<Assignment>(&s.what)) place(a->to);
      if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
      if (const auto* c = std::get_if<SubroutineCall>(&s.what)) {
        for (std::size_t n = 0; n < c->arguments.size(); ++n)
          if (may_change_argument(*c, n)) place(c->arguments[n]);
        place(c->result);
      }
      for (const auto* inner : bodies(s)) visit(**inner);
    }
  };
  visit(body);
  return out;
}

}  // namespace moonloop::fortran
