#include "core/infer/explicit_wraps.h"

#include <algorithm>
#include <set>

#include "core/infer/typing.h"

namespace moonloop {
namespace {

class Wraps {
 public:
  Wraps(const Kernel& k, std::set<std::string> names) : typer_(k), names_(std::move(names)) {
    for (const std::string& n : names_) bits_ |= name_bit(n);
  }

  /// `e` with the casts where it subscripts and decides.
  Expr outside(const Expr& e) const {
    if (!e || !may_hold(e)) return e;
    if (const auto* s = e.as<Select>())
      return Expr(Select{inside(s->cond), outside(s->yes), outside(s->no)}, e.at());
    if (const auto* c = e.as<Call>(); c && c->name == "if" && c->args.size() == 3)
      return Expr(Call{c->name, {inside(c->args[0]), outside(c->args[1]), outside(c->args[2])}, {}},
                  e.at());
    if (e.as<Load>()) return map_children(e, [&](const Expr& x) { return inside(x); });
    return map_children(e, [&](const Expr& x) { return outside(x); });
  }

  /// A subscript or a condition with the casts.
  Expr inside(const Expr& e) const {
    if (!may_hold(e)) return e;
    const Expr out = map_children(e, [&](const Expr& x) { return inside(x); });
    if (const auto* u = out.as<Unary>(); u && u->op == UnaryOp::Neg) {
      const auto t = wraps(out);
      return t ? Expr(Cast{*t, out}, e.at()) : out;
    }
    const auto* n = out.as<Nary>();
    if (!n || (n->op != NaryOp::Add && n->op != NaryOp::Mul)) return out;
    // From the left: what comes before a signed term is unsigned.
    for (std::size_t terms = n->terms.size(); terms > 1; --terms) {
      const Expr first(Nary{n->op, {n->terms.begin(), n->terms.begin() + std::ptrdiff_t(terms)}},
                       e.at());
      const auto t = wraps(first);
      if (!t) continue;
      const Expr cast(Cast{*t, first}, e.at());
      if (terms == n->terms.size()) return cast;
      Exprs all{cast};
      all.insert(all.end(), n->terms.begin() + std::ptrdiff_t(terms), n->terms.end());
      return Expr(Nary{n->op, std::move(all)}, e.at());
    }
    return out;
  }

 private:
  bool may_hold(const Expr& e) const { return (e.names() & bits_) != 0; }

  /// The type of `e`, where it is unsigned.
  std::optional<Type> wraps(const Expr& e) const {
    try {
      const auto t = typer_.type(e);
      if (t && !t->type.is_record() && is_integer(t->type.scalar) && is_unsigned(t->type.scalar))
        return t->type;
    } catch (const Error&) {  // said where its type is needed
    }
    return std::nullopt;
  }

  Typer typer_;
  std::set<std::string> names_;
  std::uint32_t bits_ = 0;
};

}  // namespace

void make_wraps_explicit(Kernel& k) {
  std::set<std::string> names;
  for (const Argument& a : std::as_const(k).args)
    if (!a.is_array && a.type && !a.type->is_record() && is_integer(a.type->scalar) &&
        is_unsigned(a.type->scalar))
      names.insert(a.name);
  if (names.empty()) return;
  const Kernel typed = k;
  const Wraps wraps(typed, std::move(names));
  for (InsnPtr& insn : k.instructions)
    insn = edit(insn, [&](Instruction& i) {
      for (Expr& e : i.lhs) e = wraps.outside(e);
      i.rhs = wraps.outside(i.rhs);
      for (Expr& e : i.predicates) e = wraps.inside(e);
    });
  for (Rule& r : k.rules) r.body = wraps.outside(r.body);
}

}  // namespace moonloop
