#include "core/order/claimed_subscripts.h"

#include <algorithm>
#include <set>

#include "core/model/lookup.h"

namespace moonloop {
namespace {

using NameList = std::vector<std::string>;

class Matching {
 public:
  Matching(const Kernel& k, const Variables& variables, const NameList& x_dims,
           const NameList& y_dims)
      : k_(k), variables_(variables), x_dims_(x_dims), y_dims_(y_dims) {}

  bool match(const Expr& x, const Expr& y) {
    const bool affine = is_affine(x, x_dims_);
    if (affine != is_affine(y, y_dims_)) return false;
    if (affine) return same(x, y), true;
    const auto either = [&](NaryOp op) {
      const auto *n = x.as<Nary>(), *m = y.as<Nary>();
      return (n && n->op == op) || (m && m->op == op);
    };
    if (either(NaryOp::Add)) return sums(terms(x, NaryOp::Add), terms(y, NaryOp::Add));
    if (either(NaryOp::Mul)) return products(terms(x, NaryOp::Mul), terms(y, NaryOp::Mul));
    if (x.kind() != y.kind()) return false;
    if (const auto* v = x.as<Var>()) return v->name == y.as<Var>()->name && held(v->name);
    if (const auto* l = x.as<Load>()) {
      const auto* m = y.as<Load>();
      return l->array == m->array && l->linear == m->linear && all(l->index, m->index) &&
             (!variables_.is_temporary(l->array) || held(l->array));
    }
    return same_node(x, y) && all(children(x), children(y));
  }

  ClaimedEqual result() && { return std::move(out_); }

 private:
  bool is_affine(const Expr& e, const NameList& dims) const {
    bool fixed = true;
    walk(e, [&](const Expr& part) {
      const auto* v = part.as<Var>();
      fixed = fixed && !part.as<Load>() && !part.as<Slice>() && !(v && variables_.has(v->name));
      return fixed;
    });
    return fixed && to_affine(e, dims);
  }
  void same(const Expr& x, const Expr& y) { out_.x.push_back(x), out_.y.push_back(y); }

  /// The temporary's value: another one in each iteration of the loops that write it.
  bool held(const std::string& temporary) {
    std::optional<std::set<std::string>> around;
    for (const InsnPtr& i : k_.instructions) {
      if (!writes(*i).count(temporary)) continue;
      if (!around) around.emplace(i->inames.begin(), i->inames.end());
      std::erase_if(*around, [&](const std::string& n) { return !i->inames.count(n); });
    }
    if (!around) return true;
    const auto has = [](const NameList& dims, const std::string& n) {
      return std::find(dims.begin(), dims.end(), n) != dims.end();
    };
    for (const std::string& n : *around)
      if (has(x_dims_, n) && has(y_dims_, n)) same(var(n), var(n));
    return true;
  }

  static Exprs children(const Expr& e) {
    Exprs out;
    for_each_child(e, [&](const Expr& c) { out.push_back(c); });
    return out;
  }
  static bool same_node(const Expr& x, const Expr& y) {
    if (const auto* b = x.as<Binary>()) return b->op == y.as<Binary>()->op;
    if (const auto* u = x.as<Unary>()) return u->op == y.as<Unary>()->op;
    if (const auto* c = x.as<Compare>()) return c->op == y.as<Compare>()->op;
    if (const auto* c = x.as<Call>()) return c->name == y.as<Call>()->name;
    if (const auto* c = x.as<Cast>()) return c->type == y.as<Cast>()->type;
    if (const auto* f = x.as<Field>()) return f->name == y.as<Field>()->name;
    if (const auto* n = x.as<Nary>()) return n->op == y.as<Nary>()->op;
    return x.as<Select>() != nullptr;
  }
  bool all(const Exprs& xs, const Exprs& ys) {
    return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(),
                      [&](const Expr& x, const Expr& y) { return match(x, y); });
  }
  /// The affine parts of two sums are equal, and each of the other terms.
  bool sums(const Exprs& xs, const Exprs& ys) {
    const auto split = [&](const Exprs& terms, const NameList& dims, Exprs& rest) {
      Exprs affine;
      for (const Expr& t : terms) (is_affine(t, dims) ? affine : rest).push_back(t);
      return affine.empty() ? lit(0) : index_add(affine);
    };
    Exprs x_rest, y_rest;
    same(split(xs, x_dims_, x_rest), split(ys, y_dims_, y_rest));
    return all(x_rest, y_rest);
  }
  /// The terms of a sum or product, with nested ones; else `e` alone.
  static Exprs terms(const Expr& e, NaryOp op) {
    const auto* n = e.as<Nary>();
    if (!n || n->op != op) return {e};
    Exprs out;
    for (const Expr& t : n->terms) {
      const Exprs inner = terms(t, op);
      out.insert(out.end(), inner.begin(), inner.end());
    }
    return out;
  }
  /// The affine factors of two products have equal products, and each of the other factors is
  /// equal.
  bool products(const Exprs& xs, const Exprs& ys) {
    const auto split = [&](const Exprs& factors, const NameList& dims, Exprs& rest) {
      Expr product = lit(1);
      for (const Expr& f : factors)
        if (is_affine(f, dims))
          product = index_mul(product, f);
        else
          rest.push_back(f);
      return product;
    };
    Exprs x_rest, y_rest;
    const Expr x = split(xs, x_dims_, x_rest), y = split(ys, y_dims_, y_rest);
    if (is_affine(x, x_dims_) && is_affine(y, y_dims_))
      same(x, y);
    else if (!all(factors_of(x), factors_of(y)))
      return false;
    return all(x_rest, y_rest);
  }
  static Exprs factors_of(const Expr& product) { return terms(product, NaryOp::Mul); }

  const Kernel& k_;
  const Variables& variables_;
  const NameList &x_dims_, &y_dims_;
  ClaimedEqual out_;
};

/// The arguments whose elements it reads; nothing where it reads temporaries too.
std::optional<std::set<std::string>> arguments_read(const Expr& e, const Variables& variables) {
  std::set<std::string> out;
  collect_reads(e, out);
  const bool copies = std::any_of(out.begin(), out.end(),
                                  [&](const std::string& n) { return variables.is_temporary(n); });
  if (copies) return std::nullopt;
  std::erase_if(out, [&](const std::string& n) { return !variables.has(n); });
  return out;
}

}  // namespace

std::optional<ClaimedEqual> claimed_equal(const Kernel& k, const Variables& variables,
                                          const Expr& x, const NameList& x_dims, const Expr& y,
                                          const NameList& y_dims) {
  const auto a = arguments_read(x, variables), b = arguments_read(y, variables);
  if (a && b && *a != *b) return ClaimedEqual{true, {}, {}};
  Matching m(k, variables, x_dims, y_dims);
  if (!m.match(x, y)) return std::nullopt;
  return std::move(m).result();
}

}  // namespace moonloop
