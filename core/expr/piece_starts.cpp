#include "core/expr/piece_starts.h"

#include <algorithm>
#include <numeric>

namespace moonloop {

std::vector<Term> terms_of(const Expr& e) {
  if (const auto v = as_int(e)) return {{*v, Expr()}};
  if (const Expr* arg = negated(e)) {
    std::vector<Term> out = terms_of(*arg);
    for (Term& t : out) t.first = -t.first;
    return out;
  }
  const Nary* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add) {
    std::vector<Term> out;
    for (const Expr& t : n->terms)
      for (Term& x : terms_of(t)) out.push_back(std::move(x));
    return out;
  }
  if (n && n->op == NaryOp::Mul && n->terms.size() == 2)
    if (const auto factor = as_int(n->terms[0])) return {{*factor, n->terms[1]}};
  return {{1, e}};
}

Expr sum_of(const std::vector<Term>& terms) {
  Exprs out;
  for (const auto& [factor, e] : terms) out.push_back(e ? index_mul(lit(factor), e) : lit(factor));
  return index_add(out);
}

Choice Choice::of(const Expr& select) {
  Choice out;
  const Expr* e = &select;
  for (const Select* s = e->as<Select>(); s; s = e->as<Select>()) {
    out.conditions.push_back(s->cond);
    out.values.push_back(s->yes);
    e = &s->no;
  }
  out.values.push_back(*e);
  return out;
}

Expr Choice::expr() const {
  Expr out = values.back();
  for (std::size_t c = conditions.size(); c-- > 0;)
    out = Expr(Select{conditions[c], values[c], out});
  return out;
}

std::set<std::string> Choice::chosen_by() const {
  std::set<std::string> out;
  for (const Expr& c : conditions) collect_vars(c, out);
  return out;
}

bool Choice::of_numbers() const {
  return std::none_of(values.begin(), values.end(), [](const Expr& e) {
    const auto* u = e.as<Unary>();
    const auto* n = e.as<Nary>();
    return e.as<Compare>() || e.as<BoolLit>() || (u && u->op == UnaryOp::Not) ||
           (n && (n->op == NaryOp::And || n->op == NaryOp::Or));
  });
}

std::optional<ChoiceNumbers> numbers_of(const Choice& choice) {
  ChoiceNumbers out;
  for (const Expr& e : choice.conditions) {
    const Compare* x = e.as<Compare>();
    const auto value = x && x->op == CompareOp::Eq ? as_int(x->right) : std::nullopt;
    if (!value || (out.number && !equal(x->left, out.number))) return std::nullopt;
    out.number = x->left;
    out.values.push_back(*value);
  }
  return out;
}

Expr normal_sums(const Expr& e) {
  if (e.as<Select>()) {
    Choice c = Choice::of(e);
    for (Expr& x : c.conditions) x = normal_sums(x);
    for (Expr& x : c.values) x = normal_sums(x);
    if (!c.of_numbers()) return c.expr();
    const Expr first = c.values[0];
    std::int64_t factor = 0;
    for (Expr& x : c.values) {
      x = index_sub(x, first);
      for (const Term& t : terms_of(x)) factor = std::gcd(factor, t.first);
    }
    if (factor == 0) return first;
    for (Expr& x : c.values) {
      std::vector<Term> terms = terms_of(x);
      for (Term& t : terms) t.first /= factor;
      x = sum_of(terms);
    }
    return index_add({first, index_mul(lit(factor), c.expr())});
  }
  const Expr inside = map_children(e, normal_sums);
  const auto* n = inside.as<Nary>();
  const bool linear = n ? n->op == NaryOp::Add || n->op == NaryOp::Mul : negated(inside) != nullptr;
  return linear ? index_add({inside}) : inside;
}

std::optional<EvenPieces> even_pieces(const Exprs& starts) {
  const auto pieces = std::int64_t(starts.size());
  if (pieces < 2) return std::nullopt;
  Exprs from_first;
  EvenPieces out{{}, 0};
  for (const Expr& e : starts) {
    from_first.push_back(normal_sums(index_sub(e, starts[0])));
    for (const Term& t : terms_of(from_first.back())) out.stride = std::gcd(out.stride, t.first);
  }
  if (as_int(from_first[1])) {
    out.stride = 1;
    const std::int64_t longest = *as_int(from_first[1]);
    std::int64_t longer = 0, before = longest;
    for (std::size_t c = 1; c < from_first.size(); ++c) {
      const auto start = as_int(from_first[c]), last = as_int(from_first[c - 1]);
      if (!start || !last) return std::nullopt;
      const std::int64_t length = *start - *last;
      if (length > before || length < longest - 1 || length < 0) return std::nullopt;
      before = length;
      longer += length == longest;
    }
    // The last piece may be a longer one where all before it are.
    out.iterations = lit(pieces * (longest - 1) + (longer == pieces - 1 ? pieces : longer));
    return out;
  }
  Expr n;
  walk(from_first[1], [&](const Expr& e) {
    const auto* b = e.as<Binary>();
    if (b && b->op == BinaryOp::FloorDiv && as_int(b->right) == pieces) n = b->left;
    return !n;
  });
  if (!n) return std::nullopt;
  const Expr quotient(Binary{BinaryOp::FloorDiv, n, lit(pieces)}),
      rest(Binary{BinaryOp::Mod, n, lit(pieces)});
  for (std::int64_t c = 1; c < pieces; ++c) {
    const Expr start = index_add({index_mul(lit(c), quotient), call("min", {lit(c), rest})});
    const Expr there = normal_sums(index_mul(lit(out.stride), start));
    if (as_int(index_sub(from_first[static_cast<std::size_t>(c)], there)) != 0) return std::nullopt;
  }
  out.iterations = std::move(n);
  return out;
}

}  // namespace moonloop
