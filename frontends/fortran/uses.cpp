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
      if (const auto* x = std::get_if<ExternalCall>(&s.what))
        for (const Expr& e : x->arguments) {
          look(e, inside);
          if (may_assign(e)) out_.assigned.insert(e.as<Var>()->name);
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
    const auto* v = e.as<Var>();
    if (!v) return false;
    const Variable& x = r_.variables.at(v->name);
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

Uses uses_of(const Routine& routine) {
  Uses out;
  each(routine.body, [&](const Statement& s) {
    if (const auto* d = std::get_if<Do>(&s.what)) out.loops.insert(d->variable);
  });
  Collection(routine, out).visit(routine.body, {});
  return out;
}

}  // namespace moonloop::fortran
