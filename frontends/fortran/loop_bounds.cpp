#include "frontends/fortran/loop_bounds.h"

namespace moonloop::fortran {

Quotient split_quotient(const Expr& e) {
  const auto quotient = [](const Expr& x) -> std::optional<Quotient> {
    const auto* c = x.as<Call>();
    if (!c || c->name != "truncdiv") return std::nullopt;
    const auto by = as_int(c->args.at(1));
    if (!by || *by < 1) return std::nullopt;
    return Quotient{c->args[0], *by, lit(0)};
  };
  if (const auto q = quotient(e)) return *q;
  const auto* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add)
    for (std::size_t i = 0; i < n->terms.size(); ++i)
      if (auto q = quotient(n->terms[i])) {
        Exprs rest = n->terms;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        q->rest = index_add(rest);
        return *q;
      }
  return {e, 1, lit(0)};
}

Expr side(const Expr& i, const Expr& e, bool most) {
  const auto test = [](CompareOp op, const Expr& a, const Expr& b) {
    return Expr(Compare{op, a, b});
  };
  const Quotient q = split_quotient(e);
  const CompareOp within = most ? CompareOp::Le : CompareOp::Ge;
  if (q.by == 1) return test(within, i, e);
  const Expr scaled = index_mul(lit(q.by), index_sub(i, q.rest));
  const auto near = [&](std::int64_t by) { return index_add({q.first, lit(by)}); };
  const Expr positive =
      most ? test(CompareOp::Le, scaled, q.first) : test(CompareOp::Gt, scaled, near(-q.by));
  const Expr negative =
      most ? test(CompareOp::Lt, scaled, near(q.by)) : test(CompareOp::Ge, scaled, q.first);
  const auto both = [](const Expr& a, const Expr& b) { return conjunction({a, b}); };
  return Expr(Nary{NaryOp::Or,
                   {both(test(CompareOp::Ge, q.first, lit(0)), positive),
                    both(test(CompareOp::Lt, q.first, lit(0)), negative)}});
}

}  // namespace moonloop::fortran
