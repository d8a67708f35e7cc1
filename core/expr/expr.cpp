#include "core/expr/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

// ---- Literals: `-5` may be Neg(5), Sub(5) or the literal -5, and `cast(int64, 5)` as a sized
// literal; both spellings print alike and count as equal.

struct Literal {
  enum class Kind { Int, Float, Complex } kind;
  std::int64_t i = 0;
  double re = 0, im = 0;
  std::optional<Scalar> type;
};

bool fits(std::int64_t v, Scalar s) {
  if (!is_integer(s)) return false;
  const int bits = 8 * size_of(s);
  if (is_unsigned(s)) return v >= 0 && (bits == 64 || v < (std::int64_t{1} << bits));
  return bits == 64 ||
         (v >= -(std::int64_t{1} << (bits - 1)) && v < (std::int64_t{1} << (bits - 1)));
}

std::optional<Literal> literal(const Expr& e) {
  if (const auto* x = e.as<IntLit>()) return Literal{Literal::Kind::Int, x->value, 0, 0, x->type};
  if (const auto* x = e.as<FloatLit>())
    return Literal{Literal::Kind::Float, 0, x->value, 0, x->type};
  if (const auto* x = e.as<ComplexLit>())
    return Literal{Literal::Kind::Complex, 0, x->re, x->im, x->type};
  if (const Expr* x = negated(e)) {
    auto l = literal(*x);
    if (!l || l->i == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    if (l->kind == Literal::Kind::Int) l->i = -l->i;
    if (l->kind == Literal::Kind::Float) l->re = -l->re;
    if (l->kind == Literal::Kind::Complex)  // `-5j` reads the same, whatever the sign of its zero
      l->re = l->re == 0 ? 0 : -l->re, l->im = -l->im;
    return l;
  }
  if (const auto* x = e.as<Cast>(); x && !x->type.is_record()) {
    auto l = literal(x->arg);
    if (!l || l->type) return std::nullopt;
    const Scalar s = x->type.scalar;
    const bool same = (l->kind == Literal::Kind::Int && fits(l->i, s)) ||
                      (l->kind == Literal::Kind::Float && is_real(s) && !std::isfinite(l->re)) ||
                      (l->kind == Literal::Kind::Complex && s == Scalar::C128);
    if (!same) return std::nullopt;
    l->type = s;
    return l;
  }
  return std::nullopt;
}

bool same_real(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

bool equal(const Literal& a, const Literal& b) {
  return a.kind == b.kind && a.i == b.i && same_real(a.re, b.re) && same_real(a.im, b.im) &&
         a.type == b.type;
}

std::size_t mix(std::size_t seed, std::size_t v) {
  return seed ^ (v + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}
std::size_t hash_text(const std::string& s) { return std::hash<std::string>{}(s); }
std::size_t hash_real(double d) {
  return std::isnan(d) ? 7 : std::hash<std::uint64_t>{}(std::bit_cast<std::uint64_t>(d));
}

/// An n-ary node; a first term of the same operation is spliced in, which keeps the meaning (terms
/// are combined from left to right) and the one form that the parser gives too.
Expr make_nary(NaryOp op, Exprs terms, const Span& at) {
  if (const auto* first = terms.front().as<Nary>(); first && first->op == op) {
    Exprs all = first->terms;
    all.insert(all.end(), std::make_move_iterator(terms.begin() + 1),
               std::make_move_iterator(terms.end()));
    return Expr(Nary{op, std::move(all)}, at);
  }
  return Expr(Nary{op, std::move(terms)}, at);
}

// ---- Linear combinations.

[[noreturn]] void overflow() {
  fail("constant-overflow", {}, "a constant in an index expression exceeds 64 bits");
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) overflow();
  return r;
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}

/// constant + sum of factor*base, bases distinct and in order of first appearance.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::unordered_multimap<std::size_t, std::size_t> by_hash;

  void add_term(const Expr& base, std::int64_t factor) {
    const std::size_t h = hash(base);
    const auto [from, to] = by_hash.equal_range(h);
    for (auto it = from; it != to; ++it) {
      auto& [known, f] = terms[it->second];
      if (moonloop::equal(known, base)) {
        f = plus(f, factor);
        return;
      }
    }
    by_hash.emplace(h, terms.size());
    terms.emplace_back(base, factor);
  }

  void add(const Expr& e, std::int64_t factor) {
    if (const auto n = as_int(e)) {
      constant = plus(constant, times(factor, *n));
      return;
    }
    if (const Expr* x = negated(e)) return add(*x, times(factor, -1));
    if (const auto* n = e.as<Nary>()) {
      if (n->op == NaryOp::Add) {
        for (const Expr& t : n->terms) add(t, factor);
        return;
      }
      if (n->op == NaryOp::Mul) {
        std::int64_t c = 1;
        Exprs rest;
        for (const Expr& t : n->terms) {
          if (const auto v = as_int(t)) {
            c = times(c, *v);
          } else {
            rest.push_back(t);
          }
        }
        if (rest.empty()) {
          constant = plus(constant, times(factor, c));
        } else if (rest.size() == 1) {
          add(rest.front(), times(factor, c));
        } else if (c == 1 && rest.size() == n->terms.size()) {
          add_term(e, factor);
        } else {
          add_term(make_nary(NaryOp::Mul, std::move(rest), e.at()), times(factor, c));
        }
        return;
      }
    }
    add_term(e, factor);
  }

  static Expr product(std::int64_t factor, const Expr& base) {
    if (factor == 1) return base;
    if (factor == -1) return Expr(Unary{UnaryOp::Neg, base}, base.at());
    Exprs factors{lit(factor)};
    if (const auto* m = base.as<Nary>(); m && m->op == NaryOp::Mul) {
      factors.insert(factors.end(), m->terms.begin(), m->terms.end());
    } else {
      factors.push_back(base);
    }
    return Expr(Nary{NaryOp::Mul, std::move(factors)}, base.at());
  }

  /// Terms in order and the constant last, but something positive in front if there is any.
  Expr build() const {
    std::vector<std::pair<Expr, std::int64_t>> kept;
    for (const auto& t : terms)
      if (t.second != 0) kept.push_back(t);
    if (kept.empty()) return lit(constant);
    const auto positive =
        std::find_if(kept.begin(), kept.end(), [](const auto& t) { return t.second > 0; });
    if (positive != kept.end()) std::rotate(kept.begin(), positive, positive + 1);
    const bool constant_first = positive == kept.end() && constant > 0;
    Exprs out;
    if (constant_first) out.push_back(lit(constant));
    for (const auto& [base, factor] : kept) {
      const bool subtract = !out.empty() && factor < 0;
      Expr term = product(subtract ? times(factor, -1) : factor, base);
      out.push_back(subtract ? Expr(Unary{UnaryOp::Sub, term}, base.at()) : term);
    }
    if (constant != 0 && !constant_first) out.push_back(lit(constant));
    if (out.size() == 1) return out.front();
    return Expr(Nary{NaryOp::Add, std::move(out)}, kept.front().first.at());
  }
};

}  // namespace

void Expr::destroy(const Node* node) {
  const auto go = [node]<class... T>(detail::Kinds<T...>) {
    using Function = void (*)(const Node*);
    static constexpr Function deletes[] = {
        [](const Node* n) { delete static_cast<const NodeOf<T>*>(n); }...};
    deletes[node->kind](node);
  };
  go(detail::ExprKinds{});
}

// ---- Builders.

Expr lit(std::int64_t value) { return Expr(IntLit{value, std::nullopt}); }
Expr var(std::string name, Span at) { return Expr(Var{std::move(name), {}}, at); }
Expr call(std::string name, Exprs args, Span at) {
  return Expr(Call{std::move(name), std::move(args), {}}, at);
}
Expr load(std::string array, Exprs index, Span at) {
  return Expr(Load{std::move(array), std::move(index), {}, false}, at);
}

Expr index_add(const Exprs& terms) {
  if (terms.size() == 1 && (terms[0].as<Var>() || terms[0].as<IntLit>())) return terms[0];
  Linear l;
  for (const Expr& t : terms) l.add(t, 1);
  return l.build();
}

Expr index_mul(const Expr& a, const Expr& b) {
  const auto ca = as_int(a), cb = as_int(b);
  Linear l;
  if (ca) {
    l.add(b, *ca);
  } else if (cb) {
    l.add(a, *cb);
  } else {
    l.add(make_nary(NaryOp::Mul, {a, b}, a.at()), 1);
  }
  return l.build();
}

Expr index_sub(const Expr& a, const Expr& b) {
  Linear l;
  l.add(a, 1);
  l.add(b, -1);
  return l.build();
}

Expr conjunction(const Exprs& terms) {
  Exprs out;
  for (const Expr& t : terms) {
    if (const auto* b = t.as<BoolLit>()) {
      if (!b->value) return t;
      continue;
    }
    if (const auto* n = t.as<Nary>(); n && n->op == NaryOp::And) {
      out.insert(out.end(), n->terms.begin(), n->terms.end());
    } else {
      out.push_back(t);
    }
  }
  if (out.empty()) return Expr(BoolLit{true});
  if (out.size() == 1) return out.front();
  return Expr(Nary{NaryOp::And, out}, out.front().at());
}

Expr negation(const Expr& e) {
  if (const auto* b = e.as<BoolLit>()) return Expr(BoolLit{!b->value}, e.at());
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Not) return u->arg;
  // Of the comparisons only == and != negate each other for NaN too.
  if (const auto* c = e.as<Compare>()) {
    if (c->op == CompareOp::Eq) return Expr(Compare{CompareOp::Ne, c->left, c->right}, e.at());
    if (c->op == CompareOp::Ne) return Expr(Compare{CompareOp::Eq, c->left, c->right}, e.at());
  }
  return Expr(Unary{UnaryOp::Not, e}, e.at());
}

Expr difference(const Expr& a, const Expr& b, const Span& at) {
  return make_nary(NaryOp::Add, {a, Expr(Unary{UnaryOp::Sub, b}, at)}, at);
}

const Expr* negated(const Expr& e) {
  const auto* u = e.as<Unary>();
  return u && (u->op == UnaryOp::Neg || u->op == UnaryOp::Sub) ? &u->arg : nullptr;
}

// ---- Walking.

namespace {

template <class F>
void each_child(const Expr& e, const F& visit) {
  const auto all = [&](const Exprs& es) {
    for (const Expr& x : es) visit(x);
  };
  const auto some = [&](const Expr& x) {
    if (x) visit(x);
  };
  e.visit(overload{[](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {},
                   [](const BoolLit&) {}, [](const Var&) {}, [&](const Load& x) { all(x.index); },
                   [&](const Field& x) { visit(x.base); }, [&](const Unary& x) { visit(x.arg); },
                   [&](const Binary& x) { visit(x.left), visit(x.right); },
                   [&](const Nary& x) { all(x.terms); },
                   [&](const Compare& x) { visit(x.left), visit(x.right); },
                   [&](const Select& x) { visit(x.cond), visit(x.yes), visit(x.no); },
                   [&](const Call& x) { all(x.args); }, [&](const Reduce& x) { all(x.args); },
                   [&](const Cast& x) { visit(x.arg); },
                   [&](const Slice& x) { some(x.start), some(x.stop), some(x.step); },
                   [&](const SubArray& x) { visit(x.load); }});
}

}  // namespace

void for_each_child(const Expr& e, const std::function<void(const Expr&)>& visit) {
  each_child(e, visit);
}

void walk(const Expr& e, const std::function<bool(const Expr&)>& visit) {
  if (visit(e)) each_child(e, [&](const Expr& c) { walk(c, visit); });
}

Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  bool changed = false;
  const auto one = [&](const Expr& x) {
    if (!x) return x;
    Expr y = f(x);
    changed |= !y.same_as(x);
    return y;
  };
  const auto all = [&](const Exprs& es) {  // empty as long as nothing changes
    Exprs out;
    for (std::size_t i = 0; i < es.size(); ++i) {
      const bool first = !changed;
      Expr y = one(es[i]);
      if (!changed) continue;
      if (first) {
        out.reserve(es.size());
        out.assign(es.begin(), es.begin() + static_cast<std::ptrdiff_t>(i));
      }
      out.push_back(std::move(y));
    }
    return out;
  };
  const auto build = [&](auto make) { return changed ? Expr(make(), e.at()) : e; };
  return e.visit(overload{
      [&](const IntLit&) { return e; }, [&](const FloatLit&) { return e; },
      [&](const ComplexLit&) { return e; }, [&](const BoolLit&) { return e; },
      [&](const Var&) { return e; },
      [&](const Load& x) {
        Exprs index = all(x.index);
        return build([&] { return Load{x.array, std::move(index), x.tag, x.linear}; });
      },
      [&](const Field& x) {
        const Expr base = one(x.base);
        return build([&] { return Field{base, x.name}; });
      },
      [&](const Unary& x) {
        const Expr arg = one(x.arg);
        return build([&] { return Unary{x.op, arg}; });
      },
      [&](const Binary& x) {
        const Expr l = one(x.left), r = one(x.right);
        return build([&] { return Binary{x.op, l, r}; });
      },
      [&](const Nary& x) {
        Exprs terms = all(x.terms);
        return changed ? make_nary(x.op, std::move(terms), e.at()) : e;
      },
      [&](const Compare& x) {
        const Expr l = one(x.left), r = one(x.right);
        return build([&] { return Compare{x.op, l, r}; });
      },
      [&](const Select& x) {
        const Expr c = one(x.cond), y = one(x.yes), n = one(x.no);
        return build([&] { return Select{c, y, n}; });
      },
      [&](const Call& x) {
        Exprs args = all(x.args);
        return build([&] { return Call{x.name, std::move(args), x.tag}; });
      },
      [&](const Reduce& x) {
        Exprs args = all(x.args);
        return build([&] { return Reduce{x.op, x.inames, std::move(args), x.simultaneous}; });
      },
      [&](const Cast& x) {
        const Expr arg = one(x.arg);
        return build([&] { return Cast{x.type, arg}; });
      },
      [&](const Slice& x) {
        const Expr a = one(x.start), o = one(x.stop), s = one(x.step);
        return build([&] { return Slice{a, o, s}; });
      },
      [&](const SubArray& x) {
        const Expr part = one(x.load);
        return build([&] { return SubArray{x.inames, part}; });
      }});
}

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  return f(map_children(e, [&](const Expr& c) { return rewrite(c, f); }));
}

namespace {

template <class Names>
std::uint32_t bits_of(const Names& names) {
  std::uint32_t out = 0;
  for (const auto& [name, to] : names) out |= name_bit(name);
  return out;
}

/// rewrite for an `f` that changes only what has one of some names, whose bits are `names`.
template <class F>
Expr rewrite_where(std::uint32_t names, const Expr& e, const F& f) {
  if (!(e.names() & names)) return e;
  return f(map_children(e, [&](const Expr& c) { return rewrite_where(names, c, f); }));
}

/// `inames` with the variables that replace them; the list itself when none does.
bool replace_bound(std::vector<std::string>& inames, const std::map<std::string, Expr>& by) {
  bool changed = false;
  for (std::string& n : inames) {
    const auto it = by.find(n);
    if (it == by.end()) continue;
    const auto* v = it->second.as<Var>();
    if (!v) throw InternalError("substitute: `" + n + "` is bound by a reduction");
    changed |= v->name != n;
    n = v->name;
  }
  return changed;
}

}  // namespace

Expr substitute(const Expr& e, const std::map<std::string, Expr>& by) {
  return rewrite_where(bits_of(by), e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) {
      const auto it = by.find(v->name);
      return it == by.end() ? x : it->second;
    }
    if (const auto* r = x.as<Reduce>()) {
      Reduce copy = *r;
      if (replace_bound(copy.inames, by)) return Expr(std::move(copy), x.at());
    }
    if (const auto* s = x.as<SubArray>()) {
      SubArray copy = *s;
      if (replace_bound(copy.inames, by)) return Expr(std::move(copy), x.at());
    }
    return x;
  });
}

Expr rename(const Expr& e, const std::map<std::string, std::string>& names) {
  const auto find = [&](const std::string& n) -> const std::string* {
    const auto it = names.find(n);
    return it == names.end() ? nullptr : &it->second;
  };
  const auto all = [&](std::vector<std::string>& list) {
    bool changed = false;
    for (std::string& n : list)
      if (const auto* to = find(n)) n = *to, changed = true;
    return changed;
  };
  return rewrite_where(bits_of(names), e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) {
      const auto* to = find(v->name);
      return to ? Expr(Var{*to, v->tag}, x.at()) : x;
    }
    if (const auto* l = x.as<Load>()) {
      const auto* to = find(l->array);
      return to ? Expr(Load{*to, l->index, l->tag, l->linear}, x.at()) : x;
    }
    if (const auto* r = x.as<Reduce>()) {
      Reduce copy = *r;
      if (all(copy.inames)) return Expr(std::move(copy), x.at());
    }
    if (const auto* s = x.as<SubArray>()) {
      SubArray copy = *s;
      if (all(copy.inames)) return Expr(std::move(copy), x.at());
    }
    return x;
  });
}

void collect_vars(const Expr& e, std::set<std::string>& out) {
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) out.insert(v->name);
    if (const auto* r = x.as<Reduce>()) out.insert(r->inames.begin(), r->inames.end());
    if (const auto* s = x.as<SubArray>()) out.insert(s->inames.begin(), s->inames.end());
    return true;
  });
}

void collect_reads(const Expr& e, std::set<std::string>& out) {
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) out.insert(v->name);
    if (const auto* l = x.as<Load>()) out.insert(l->array);
    return true;
  });
}

std::vector<std::string> reduction_inames(const Expr& e) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for_each_of<Reduce>(e, [&](const Reduce& r, const Expr&) {
    for (const std::string& n : r.inames)
      if (seen.insert(n).second) out.push_back(n);
  });
  return out;
}

bool contains_reduction(const Expr& e) { return e.holds<Reduce>(); }

// ---- Equality and hashing.

bool same_nodes(const Exprs& a, const Exprs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return x.same_as(y); });
}

bool equal(const Exprs& a, const Exprs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a.names() != b.names()) return false;
  const auto la = literal(a), lb = literal(b);
  if (la || lb) return la && lb && equal(*la, *lb);
  if (a.kind() != b.kind()) return false;
  return a.visit(
      overload{[](const IntLit&) { return false; }, [](const FloatLit&) { return false; },
               [](const ComplexLit&) { return false; },  // literals were compared above
               [&](const BoolLit& x) { return x.value == b.as<BoolLit>()->value; },
               [&](const Var& x) {
                 const auto& y = *b.as<Var>();
                 return x.name == y.name && x.tag == y.tag;
               },
               [&](const Load& x) {
                 const auto& y = *b.as<Load>();
                 return x.array == y.array && x.tag == y.tag && x.linear == y.linear &&
                        equal(x.index, y.index);
               },
               [&](const Field& x) {
                 const auto& y = *b.as<Field>();
                 return x.name == y.name && equal(x.base, y.base);
               },
               [&](const Unary& x) {
                 const auto& y = *b.as<Unary>();
                 return x.op == y.op && equal(x.arg, y.arg);
               },
               [&](const Binary& x) {
                 const auto& y = *b.as<Binary>();
                 return x.op == y.op && equal(x.left, y.left) && equal(x.right, y.right);
               },
               [&](const Nary& x) {
                 const auto& y = *b.as<Nary>();
                 return x.op == y.op && equal(x.terms, y.terms);
               },
               [&](const Compare& x) {
                 const auto& y = *b.as<Compare>();
                 return x.op == y.op && equal(x.left, y.left) && equal(x.right, y.right);
               },
               [&](const Select& x) {
                 const auto& y = *b.as<Select>();
                 return equal(x.cond, y.cond) && equal(x.yes, y.yes) && equal(x.no, y.no);
               },
               [&](const Call& x) {
                 const auto& y = *b.as<Call>();
                 return x.name == y.name && x.tag == y.tag && equal(x.args, y.args);
               },
               [&](const Reduce& x) {
                 const auto& y = *b.as<Reduce>();
                 return x.op == y.op && x.inames == y.inames && x.simultaneous == y.simultaneous &&
                        equal(x.args, y.args);
               },
               [&](const Cast& x) {
                 const auto& y = *b.as<Cast>();
                 return x.type == y.type && equal(x.arg, y.arg);
               },
               [&](const Slice& x) {
                 const auto& y = *b.as<Slice>();
                 return equal(x.start, y.start) && equal(x.stop, y.stop) && equal(x.step, y.step);
               },
               [&](const SubArray& x) {
                 const auto& y = *b.as<SubArray>();
                 return x.inames == y.inames && equal(x.load, y.load);
               }});
}

std::size_t hash(const Expr& e) {
  if (!e) return 0;
  if (const auto l = literal(e))
    return mix(mix(static_cast<std::size_t>(l->kind), static_cast<std::size_t>(l->i)),
               mix(hash_real(l->re), hash_real(l->im)));
  std::size_t h = static_cast<std::size_t>(e.kind()) * 1000003;
  const auto kind = [&](auto op) { h = mix(h, static_cast<std::size_t>(op)); };
  const auto text = [&](const std::string& s) { h = mix(h, hash_text(s)); };
  e.visit(overload{[](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {},
                   [&](const BoolLit& x) { kind(x.value); }, [&](const Var& x) { text(x.name); },
                   [&](const Load& x) { text(x.array); }, [&](const Field& x) { text(x.name); },
                   [&](const Unary& x) { kind(x.op); }, [&](const Binary& x) { kind(x.op); },
                   [&](const Nary& x) { kind(x.op); }, [&](const Compare& x) { kind(x.op); },
                   [](const Select&) {}, [&](const Call& x) { text(x.name); },
                   [&](const Reduce& x) {
                     kind(x.op);
                     for (const std::string& n : x.inames) text(n);
                   },
                   [&](const Cast& x) { text(x.type.str()); }, [](const Slice&) {},
                   [&](const SubArray& x) {
                     for (const std::string& n : x.inames) text(n);
                   }});
  for_each_child(e, [&](const Expr& c) { h = mix(h, hash(c)); });
  return h;
}

std::optional<std::int64_t> as_int(const Expr& e) {
  if (const auto* x = e.as<IntLit>()) return x->value;
  if (const Expr* x = negated(e)) {
    const auto inner = as_int(*x);
    if (inner && *inner != std::numeric_limits<std::int64_t>::min()) return -*inner;
  }
  return std::nullopt;
}

}  // namespace moonloop
