#include "frontends/fortran/uses.h"

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
        for (const Expr& e : x->arguments) {
          look(e, inside);
          if (may_assign(e) && !inside.count(written_name(e)))
            out_.assigned.insert(written_name(e));
        }
        if (x->result) out_.assigned.insert(written_name(x->result));
      }
      if (const auto* c = std::get_if<Choice>(&s.what))
        for (const Choice::Arm& arm : c->arms)
          look(arm.condition, inside), visit(*arm.body, inside);
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

}  // namespace

std::vector<std::shared_ptr<Body>*> bodies(Statement& s) {
  std::vector<std::shared_ptr<Body>*> out;
  if (auto* d = std::get_if<Do>(&s.what)) out.push_back(&d->body);
  if (auto* c = std::get_if<Choice>(&s.what))
    for (Choice::Arm& a : c->arms) out.push_back(&a.body);
  if (auto* w = std::get_if<Where>(&s.what))
    for (Where::Arm& a : w->arms) out.push_back(&a.body);
  if (auto* f = std::get_if<Forall>(&s.what)) out.push_back(&f->body);
  return out;
}

void rename_in(Body& body, const std::map<std::string, std::string>& names) {
  for (Statement& s : body) {
    expressions(s, [&](Expr& e) {
      if (e) e = rename(e, names);
    });
    if (auto* d = std::get_if<Do>(&s.what))
      if (const auto it = names.find(d->variable); it != names.end()) d->variable = it->second;
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

}  // namespace moonloop::fortran
