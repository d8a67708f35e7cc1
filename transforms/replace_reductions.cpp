#include "transforms/replace_reductions.h"

#include "core/expr/reduction_steps.h"
#include "core/model/lookup.h"

namespace moonloop {
namespace {

class Replacement {
 public:
  Replacement(const InPlaceOfReduction& f, const InPlaceOfSums& together)
      : f_(f), together_(together) {}

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
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add && together_)
      if (const auto first = first_sums(*n, e.at())) {
        Exprs terms{*first};
        for (std::size_t t = sums_in_front(*n); t < n->terms.size(); ++t)
          terms.push_back(in(n->terms[t]));
        return terms.size() == 1 ? terms[0] : Expr(Nary{n->op, std::move(terms)}, e.at());
      }
    return map_children(e, [&](const Expr& c) { return in(c); });
  }

 private:
  static std::size_t sums_in_front(const Nary& n) {
    std::size_t count = 0;
    for (; count < n.terms.size(); ++count) {
      const auto* r = n.terms[count].as<Reduce>();
      if (!r || r->op != ReduceOp::Sum) break;
    }
    return count;
  }

  std::optional<Expr> first_sums(const Nary& n, const Span& at) const {
    const std::size_t count = sums_in_front(n);
    if (count < 2) return std::nullopt;
    return together_({n.terms.begin(), n.terms.begin() + std::ptrdiff_t(count)}, at, conditions_);
  }

  Expr under(const Expr& e, const Expr& condition) {
    conditions_.push_back(condition);
    Expr out = in(e);
    conditions_.pop_back();
    return out;
  }

  const InPlaceOfReduction& f_;
  const InPlaceOfSums& together_;
  Exprs conditions_;
};

}  // namespace

Expr replace_reductions(const Expr& e, const InPlaceOfReduction& f, const InPlaceOfSums& together) {
  return Replacement(f, together).in(e);
}

}  // namespace moonloop
