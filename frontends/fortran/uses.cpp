#include "frontends/fortran/uses.h"

#include <algorithm>

#include "core/model/external.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"

namespace moonloop::fortran {
namespace {

class Collection {
 public:
  Collection(const Routine& routine, Uses& out) : r_(routine), out_(out) {}

  void visit(const Body& body, const std::set<std::string>& inside) {
    for (const Statement& s : body) {
      if (const auto* a = std::get_if<Assignment>(&s.what)) {
        out_.assigned.insert(written_name(a->to));
        look(a->to, inside), look(a->value, inside);
      }
      if (const auto* x = std::get_if<SubroutineCall>(&s.what)) {
        for (std::size_t n = 0; n < x->arguments.size(); ++n) {
          const Expr& e = x->arguments[n];
          look(e, inside);
          if (may_change_argument(*x, n) && may_assign(e) && !inside.count(written_name(e)))
            out_.assigned.insert(written_name(e));
        }
        for (const auto& [name, v] : r_.variables)
          if (v.outer && may_change(*x, v)) out_.assigned.insert(name);
        if (x->result) out_.assigned.insert(written_name(x->result));
      }
      if (const auto* c = std::get_if<Choice>(&s.what))
        for (const Choice::Arm& arm : c->arms)
          look(arm.condition, inside), visit(*arm.body, inside);
      if (const auto* x = std::get_if<Scope>(&s.what)) visit(*x->body, inside);
      if (const auto* d = std::get_if<Do>(&s.what)) {
        look(d->from, inside), look(d->to, inside), look(d->step, inside);
        std::set<std::string> more = inside;
        more.insert(d->variable);
        visit(*d->body, more);
      }
    }
  }

 private:
  bool may_assign(const Expr& e) const {
    if (!e.as<Var>() && !e.as<Load>()) return false;
    const Variable& x = r_.variables.at(written_name(e));
    return x.intent != Intent::In && !x.constant && !x.value;
  }

  void look(const Expr& e, const std::set<std::string>& inside) {
    if (!e) return;
    std::set<std::string> names;
    collect_vars(e, names);
    for (const std::string& n : names) {
      out_.read.insert(n);
      if (out_.loops.count(n) && !inside.count(n)) out_.behind.insert(n);
    }
    walk(e, [&](const Expr& x) {
      if (const auto* l = x.as<Load>()) out_.read.insert(l->array);
      return true;
    });
  }

  const Routine& r_;
  Uses& out_;
};

/// Whether `e` has to do with a variable of 64 bits.
bool mentions_wide(const Expr& e, const Routine& r) {
  if (!e) return false;
  bool found = false;
  walk(e, [&](const Expr& x) {
    const auto* v = x.as<Var>();
    const auto* l = x.as<Load>();
    const auto it = v   ? r.variables.find(v->name)
                    : l ? r.variables.find(l->array)
                        : r.variables.end();
    found = found || (it != r.variables.end() && it->second.type.scalar == Scalar::I64);
    return !found;
  });
  return found;
}

}  // namespace

bool may_change_argument(const SubroutineCall& c, std::size_t number) {
  if (c.changes) return c.changes->at(number);
  if (!c.output) return true;
  std::size_t lengths = 0;  // of texts, which follow these
  for (std::size_t n = 0; n < number; ++n) lengths += as_text_length(c.arguments[n]) ? 1 : 0;
  return c.output->changes.contains(number - lengths) && !as_text_length(c.arguments[number]);
}

std::string outer_path(const Variable& v) {
  if (!v.outer) return {};
  const bool program = v.outer->kind == FortranOuter::Kind::Program;
  if (!program && v.outer->kind != FortranOuter::Kind::Module) return {};
  return (program ? kProgram : v.outer->module) + "::" + v.outer->name +
         (v.component ? v.component->path : "");
}

bool overlaps(const std::set<std::string>& paths, const std::string& path) {
  return !path.empty() && std::any_of(paths.begin(), paths.end(), [&](const std::string& p) {
    return p == path || p.starts_with(path + "%") || path.starts_with(p + "%");
  });
}

bool counts_in_64_bits(const Routine& routine) {
  bool found = false;
  const auto look = [&](const Expr& e) { found = found || mentions_wide(e, routine); };
  for (const auto& [name, v] : routine.variables)
    for (const Bounds& b : v.bounds) look(b.lower), look(b.upper);
  each(routine.body, [&](const Statement& s) {
    if (const auto* d = std::get_if<Do>(&s.what))
      look(var(d->variable)), look(d->from), look(d->to), look(d->step);
    expressions(s, [&](const Expr& e) {
      if (e)
        walk(e, [&](const Expr& x) {
          if (const auto* c = x.as<Slice>()) look(c->start), look(c->stop), look(c->step);
          return true;
        });
    });
  });
  return found;
}

namespace {

template <typename S, typename Out>
void add_bodies(S& s, Out& out) {
  if (auto* d = std::get_if<Do>(&s.what)) out.push_back(&d->body);
  if (auto* c = std::get_if<Choice>(&s.what))
    for (auto& a : c->arms) out.push_back(&a.body);
  if (auto* w = std::get_if<Where>(&s.what))
    for (auto& a : w->arms) out.push_back(&a.body);
  if (auto* f = std::get_if<Forall>(&s.what)) out.push_back(&f->body);
  if (auto* x = std::get_if<Scope>(&s.what)) out.push_back(&x->body);
}

}  // namespace

std::vector<std::shared_ptr<Body>*> bodies(Statement& s) {
  std::vector<std::shared_ptr<Body>*> out;
  add_bodies(s, out);
  return out;
}

std::vector<const std::shared_ptr<Body>*> bodies(const Statement& s) {
  std::vector<const std::shared_ptr<Body>*> out;
  add_bodies(s, out);
  return out;
}

void rename_in(Body& body, const std::map<std::string, std::string>& names) {
  for (Statement& s : body) {
    expressions(s, [&](Expr& e) {
      if (e) e = rename(e, names);
    });
    if (auto* d = std::get_if<Do>(&s.what)) {
      const auto now = [&](const std::string& name) {
        const auto it = names.find(name);
        return it == names.end() ? name : it->second;
      };
      d->variable = now(d->variable);
      if (d->directive && !names.empty()) d->directive = renamed(*d->directive, now);
    }
    for (std::shared_ptr<Body>* inner : bodies(s)) {
      *inner = std::make_shared<Body>(**inner);
      rename_in(**inner, names);
    }
  }
}

Uses uses_of(const Routine& routine) {
  Uses out;
  each(routine.body, [&](const Statement& s) {
    if (const auto* d = std::get_if<Do>(&s.what)) out.loops.insert(d->variable);
  });
  Collection(routine, out).visit(routine.body, {});
  return out;
}

std::set<std::string> kernels_called(const Body& b) {
  std::set<std::string> out;
  each(b, [&](const Statement& s) {
    if (const auto* c = std::get_if<SubroutineCall>(&s.what); c && c->changes)
      out.insert(kernel_name(c->name));
  });
  return out;
}

std::vector<std::pair<std::string, Span>> calls_of(const Body& b) {
  std::vector<std::pair<std::string, Span>> out;
  for (const Statement& s : b) {
    if (const auto* c = std::get_if<SubroutineCall>(&s.what); c && !c->output)
      out.emplace_back(c->name, s.at);
    expressions(s, [&](const Expr& e) {
      if (!e) return;
      walk(e, [&](const Expr& x) {
        const std::string name =
            called(x, kFunction) + called(x, kElemental) + called(x, kArrayFunction);
        if (!name.empty()) out.emplace_back(name, s.at);
        return true;
      });
    });
    for (const auto* inner : bodies(s)) {
      const auto more = calls_of(**inner);
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

Expr place_of(const Expr& e, const Routine& r) {
  if (e.as<Var>() || e.as<Load>()) return e;
  const auto* c = e.as<Compare>();
  if (!c || c->op != CompareOp::Ne || as_int(c->right) != 0) return Expr();
  if (!c->left.as<Var>() && !c->left.as<Load>()) return Expr();
  const auto it = r.variables.find(written_name(c->left));
  return it != r.variables.end() && it->second.logical ? c->left : Expr();
}

bool is_assigned(const std::string& name, const Body& body) {
  bool found = false;
  each(body, [&](const Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    found = found || (a && written_name(a->to) == name);
  });
  return found;
}

}  // namespace moonloop::fortran
