#include "frontends/fortran/presence.h"

#include <algorithm>

#include "frontends/fortran/names.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

std::optional<bool> truth(const Expr& e) {
  const auto* b = e ? e.as<BoolLit>() : nullptr;
  return b ? std::optional(b->value) : std::nullopt;
}

/// `and` or `or` without the terms that are known, as far as the first one that decides.
Expr decided(const Nary& n, const Expr& e) {
  const bool decides = n.op == NaryOp::Or;
  Exprs left;
  for (const Expr& t : n.terms) {
    const auto known = truth(t);
    if (!known) left.push_back(t);
    if (known == decides) {
      left.push_back(t);
      break;
    }
  }
  if (left.empty()) return Expr(BoolLit{!decides}, e.at());
  if (truth(left[0]) == decides || left.size() == 1) return left[0];
  return Expr(Nary{n.op, std::move(left)}, e.at());
}

class Presence {
 public:
  Presence() = default;
  Presence(const Routine& r, const std::map<std::string, bool>& given) {
    for (const auto& [name, there] : given) known_.emplace(presence_of(name, r), there);
  }

  Body body(const Body& b) const {
    Body out;
    for (Statement s : b) {
      expressions(s, [&](Expr& e) {
        if (e) e = folded(e);
      });
      for (auto* inner : bodies(s)) *inner = std::make_shared<Body>(body(**inner));
      auto* c = std::get_if<Choice>(&s.what);
      if (!c || !choose(*c, out)) out.push_back(std::move(s));
    }
    return out;
  }

 private:
  Expr folded(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (const auto* c = x.as<Compare>()) {
        const auto* v = c->left.as<Var>();
        const auto it = v ? known_.find(v->name) : known_.end();
        const bool there = c->op == CompareOp::Gt;  // else its negation
        if (it != known_.end()) return Expr(BoolLit{it->second == there}, x.at());
      }
      if (const auto* u = x.as<Unary>(); u && u->op == UnaryOp::Not)
        if (const auto known = truth(u->arg)) return Expr(BoolLit{!*known}, x.at());
      if (const auto* s = x.as<Select>())
        if (const auto known = truth(s->cond)) return *known ? s->yes : s->no;
      const auto* n = x.as<Nary>();
      return n && (n->op == NaryOp::And || n->op == NaryOp::Or) ? decided(*n, x) : x;
    });
  }

  /// Takes the arms out that never run; true where one always does, whose statements are in `out`.
  static bool choose(Choice& c, Body& out) {
    std::erase_if(c.arms, [](const Choice::Arm& a) { return truth(a.condition) == false; });
    const auto always = std::find_if(c.arms.begin(), c.arms.end(), [](const Choice::Arm& a) {
      return truth(a.condition) == true;
    });
    if (always != c.arms.end()) {
      always->condition = Expr();
      c.arms.erase(always + 1, c.arms.end());
    }
    if (c.arms.empty()) return true;
    if (c.arms.front().condition) return false;
    append(*c.arms.front().body, out);
    return true;
  }

  std::map<std::string, bool> known_;  // by the arguments that say so
};

}  // namespace

Body without_decided(const Body& body) { return Presence().body(body); }

void settle_presence(Routine& routine, const std::map<std::string, bool>& given) {
  routine.body = Presence(routine, given).body(routine.body);
}

}  // namespace moonloop::fortran
