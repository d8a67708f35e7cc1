#include "transforms/replace_reductions.h"

#include "core/expr/reduction_steps.h"
#include "core/model/lookup.h"

namespace moonloop {
namespace {

class Replacement {
 public:
  explicit Replacement(const InPlaceOfReduction& f) : f_(f) {}

  Expr in(const Expr& e) {
    if (const auto* r = e.as<Reduce>()) return f_(*r, e.at(), conditions_).value_or(e);
    if (!contains_reduction(e)) return e;
    if (const auto* s = e.as<Select>()) {
      const Expr cond = in(s->cond);
      const Expr yes = under(s->yes, cond);
      return Expr(Select{cond, yes, under(s->no, negation(cond))}, e.at());
    }
    if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
      const std::size_t before = conditions_.size();
      Exprs terms;
      for (const Expr& t : n->terms) {
        terms.push_back(in(t));
        conditions_.push_back(n->op == NaryOp::And ? terms.back() : negation(terms.back()));
      }
      conditions_.resize(before);
      return Expr(Nary{n->op, std::move(terms)}, e.at());
    }
    return map_children(e, [&](const Expr& c) { return in(c); });
  }

 private:
  Expr under(const Expr& e, const Expr& condition) {
    conditions_.push_back(condition);
    Expr out = in(e);
    conditions_.pop_back();
    return out;
  }

  const InPlaceOfReduction& f_;
  Exprs conditions_;
};

}  // namespace

Expr replace_reductions(const Expr& e, const InPlaceOfReduction& f) { return Replacement(f).in(e); }

}  // namespace moonloop
