#include "core/model/parametric_digits.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>

#include "core/model/domain.h"
#include "core/model/lookup.h"

namespace moonloop {
namespace {

using NameList = std::vector<std::string>;
using Product = std::vector<std::string>;  // of parameters, sorted

/// By products of parameters, the factor of each; no zeros.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(std::int64_t c) { add({}, c); }
  explicit Polynomial(const std::string& parameter) { add({parameter}, 1); }

  const std::map<Product, std::int64_t>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  bool is_negative() const { return !is_zero() && leading().second < 0; }
  std::size_t degree() const { return is_zero() ? 0 : leading().first.size(); }

  void add(const Product& product, std::int64_t times) {
    std::int64_t& now = terms_[product];
    overflows_ = overflows_ || __builtin_add_overflow(now, times, &now);
    if (now == 0) terms_.erase(product);
  }
  void add(const Polynomial& p) {
    for (const auto& [product, times] : p.terms_) add(product, times);
    overflows_ = overflows_ || p.overflows_;
  }
  Polynomial times(const Polynomial& p) const {
    Polynomial out;
    out.overflows_ = overflows_ || p.overflows_ || terms_.size() * p.terms_.size() > 256;
    if (out.overflows_) return out;
    for (const auto& [x, a] : terms_)
      for (const auto& [y, b] : p.terms_) {
        Product both = x;
        both.insert(both.end(), y.begin(), y.end());
        std::sort(both.begin(), both.end());
        std::int64_t c = 0;
        out.overflows_ = out.overflows_ || __builtin_mul_overflow(a, b, &c);
        out.add(both, c);
      }
    return out;
  }
  /// Whole: how often `by` is in it; the remainder stays here.
  Polynomial take_quotient(const Polynomial& by) {
    Polynomial out;
    const auto [lead, times] = by.leading();
    for (bool again = true; again && !overflows_;) {
      again = false;
      for (const auto& [product, c] : terms_) {
        const auto rest = without(product, lead);
        if (!rest || c % times != 0) continue;
        Polynomial part;
        part.add(*rest, c / times);
        out.add(part);
        add(by.times(part).times(Polynomial(-1)));
        again = true;
        break;
      }
    }
    return out;
  }
  /// The greatest number that divides it.
  std::int64_t content() const {
    std::int64_t out = 0;
    for (const auto& [product, c] : terms_) out = std::gcd(out, c);
    return out;
  }
  bool overflows() const { return overflows_; }
  bool is_affine() const {
    return std::all_of(terms_.begin(), terms_.end(),
                       [](const auto& t) { return t.first.size() <= 1; });
  }
  /// It is affine.
  Expr expression() const {
    Exprs terms;
    for (const auto& [product, c] : terms_)
      terms.push_back(product.empty() ? lit(c) : index_mul(lit(c), var(product.front())));
    return terms.empty() ? lit(0) : index_add(terms);
  }
  auto operator<=>(const Polynomial& p) const { return terms_ <=> p.terms_; }

 private:
  /// The term of the most factors.
  std::pair<Product, std::int64_t> leading() const {
    return *std::max_element(terms_.begin(), terms_.end(), [](const auto& x, const auto& y) {
      return std::pair(x.first.size(), x.first) < std::pair(y.first.size(), y.first);
    });
  }
  static std::optional<Product> without(Product all, const Product& some) {
    for (const std::string& p : some) {
      const auto it = std::find(all.begin(), all.end(), p);
      if (it == all.end()) return std::nullopt;
      all.erase(it);
    }
    return all;
  }

  std::map<Product, std::int64_t> terms_;
  bool overflows_ = false;
};

/// A sum of parts that are affine in inames, each times a polynomial of the parameters.
class Number {
 public:
  Number(const Kernel& k, const NameList& dims) : k_(k), dims_(dims) {}

  bool add(const Expr& e, const Polynomial& factor) {
    if (factor.overflows() || ++steps_ > kMostSteps) return false;
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add)
      return std::all_of(n->terms.begin(), n->terms.end(),
                         [&](const Expr& t) { return add(t, factor); });
    if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Neg)
      return add(u->arg, factor.times(Polynomial(-1)));
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul)
      return add_product(n->terms, factor);
    if (as_int(e) || is_parameter(e)) return add_product({e}, factor);
    if (!to_affine(e, dims_)) return false;
    auto& [part, times] = parts_[to_string(e)];
    part = e;
    times.add(factor);
    return true;
  }

  /// The factors of inames: by primitive part, the greatest common divisor of their contents.
  void collect_strides(std::map<Polynomial, std::int64_t>& out) const {
    for (const auto& [text, part] : parts_) {
      if (part.second.is_zero()) continue;
      const std::int64_t content = part.second.content();
      Polynomial rest = part.second;
      const Polynomial primitive =
          rest.take_quotient(Polynomial(rest.is_negative() ? -content : content));
      std::int64_t& common = out[primitive];
      common = std::gcd(common, content);
    }
  }

  /// The factors of the strides, the largest last; nothing where one is not affine.
  std::optional<Exprs> digits(const std::vector<Polynomial>& strides) const {
    std::vector<Exprs> terms(strides.size());
    for (const auto& [text, part] : parts_) {
      if (part.second.is_zero()) continue;
      bool found = false;
      for (std::size_t s = strides.size(); s-- > 0 && !found;) {
        Polynomial rest = part.second;
        const Polynomial times = rest.take_quotient(strides[s]);
        if (!rest.is_zero() || times.degree() > 0) continue;
        terms[s].push_back(index_mul(times.expression(), part.first));
        found = true;
      }
      if (!found) return std::nullopt;
    }
    Polynomial rest = constant_;
    for (std::size_t s = strides.size(); s-- > 0;) {
      const Polynomial times = rest.take_quotient(strides[s]);
      if (!times.is_affine()) return std::nullopt;
      if (!times.is_zero()) terms[s].push_back(times.expression());
    }
    if (!rest.is_zero() || rest.overflows()) return std::nullopt;
    Exprs out;
    for (const Exprs& t : terms) out.push_back(t.empty() ? lit(0) : index_add(t));
    return out;
  }

 private:
  static constexpr int kMostSteps = 256;

  bool is_parameter(const Expr& e) const {
    const auto* v = e.as<Var>();
    return v && std::find(dims_.begin(), dims_.end(), v->name) == dims_.end() &&
           !k_.has_iname(v->name);
  }
  /// A product of sums is the sum of the products.
  bool add_product(Exprs terms, Polynomial factor) {
    Exprs rest;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Expr t = terms[i];
      const auto* product = t.as<Nary>();
      if (product && product->op == NaryOp::Mul)
        terms.insert(terms.end(), product->terms.begin(), product->terms.end());
      else if (const auto c = as_int(t))
        factor = factor.times(Polynomial(*c));
      else if (is_parameter(t))
        factor = factor.times(Polynomial(t.as<Var>()->name));
      else
        rest.push_back(t);
    }
    if (factor.overflows()) return false;
    if (rest.empty()) {
      constant_.add(factor);
      return true;
    }
    if (rest.size() == 1) return add(rest[0], factor);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const auto* sum = rest[i].as<Nary>();
      if (!sum || sum->op != NaryOp::Add) continue;
      return std::all_of(sum->terms.begin(), sum->terms.end(), [&](const Expr& t) {
        Exprs product = rest;
        product[i] = t;
        return ++steps_ <= kMostSteps && add_product(product, factor);
      });
    }
    return false;  // an iname times another one
  }

  const Kernel& k_;
  const NameList& dims_;
  int steps_ = 0;
  std::map<std::string, std::pair<Expr, Polynomial>> parts_;
  Polynomial constant_;
};

Set instances(const Kernel& k, const NameList& dims) {
  Set out = domain_of(k, dims);
  NameList computed;
  for (const std::string& p : param_names(out))
    if (k.find_temporary(p)) computed.push_back(p);
  return drop_params(std::move(out), computed);
}

class Bounds {
 public:
  Bounds(const Kernel& k, const NameList& x_dims, const NameList& y_dims)
      : x_dims_(x_dims), y_dims_(y_dims), x_(instances(k, x_dims)), y_(instances(k, y_dims)) {}

  /// Whether two values always differ by less than `radix`.
  bool closer(const Expr& x, const Expr& y, const Polynomial& radix) {
    if (radix.is_affine()) return apart_by_less(x, y, radix.expression());
    if (radix.terms().size() > 1) return false;
    const auto& [product, times] = *radix.terms().begin();
    return times > 0 && std::any_of(product.begin(), product.end(), [&](const std::string& p) {
             return others_positive(product, p) && apart_by_less(x, y, var(p));
           });
  }

 private:
  bool apart_by_less(const Expr& x, const Expr& y, const Expr& radix) {
    return !some(x, index_add({y, radix}), true) && !some(index_add({x, radix}), y, false);
  }
  /// Whether `x >= y` (`x_greater`), or `x <= y`, for some two instances.
  bool some(const Expr& x, const Expr& y, bool x_greater) {
    const auto a = to_map({x}, x_dims_), b = to_map({y}, y_dims_);
    if (!a || !b) return true;
    Space values = isl_space_range(isl_map_get_space(a->get()));
    Map order = x_greater ? isl_map_lex_ge(values.take()) : isl_map_lex_le(values.take());
    Map pairs = isl_map_apply_range(a->copy(), order.take());
    pairs = isl_map_apply_range(pairs.take(), isl_map_reverse(b->copy()));
    pairs = isl_map_intersect_domain(pairs.take(), x_.copy());
    pairs = isl_map_intersect_range(pairs.take(), y_.copy());
    return !yes(isl_map_is_empty(pairs.get()));
  }
  bool others_positive(const Product& all, const std::string& one) const {
    return std::all_of(all.begin(), all.end(), [&](const std::string& p) {
      if (p == one) return true;
      const auto positive = to_condition(Expr(Compare{CompareOp::Ge, var(p), lit(1)}), x_dims_);
      return positive && yes(isl_set_is_subset(x_.get(), positive->get()));
    });
  }

  const NameList &x_dims_, &y_dims_;
  Set x_, y_;
};

}  // namespace

std::optional<CommonDigits> common_digits(const Kernel& k, const Expr& x, const NameList& x_dims,
                                          const Expr& y, const NameList& y_dims) {
  Number p(k, x_dims), q(k, y_dims);
  if (!p.add(x, Polynomial(1)) || !q.add(y, Polynomial(1))) return std::nullopt;
  std::map<Polynomial, std::int64_t> found;
  p.collect_strides(found), q.collect_strides(found);
  found[Polynomial(1)] = 1;
  std::vector<Polynomial> strides;
  for (const auto& [primitive, content] : found)
    strides.push_back(primitive.times(Polynomial(content)));
  std::stable_sort(strides.begin(), strides.end(), [](const Polynomial& a, const Polynomial& b) {
    return a.degree() < b.degree();
  });
  std::vector<Polynomial> radices;
  for (std::size_t s = 1; s < strides.size(); ++s) {
    Polynomial rest = strides[s];
    radices.push_back(rest.take_quotient(strides[s - 1]));
    if (!rest.is_zero() || radices.back().degree() == 0) return std::nullopt;
  }
  const auto xs = p.digits(strides), ys = q.digits(strides);
  if (!xs || !ys) return std::nullopt;
  Bounds bounds(k, x_dims, y_dims);
  for (std::size_t s = 0; s < radices.size(); ++s)
    if (!bounds.closer((*xs)[s], (*ys)[s], radices[s])) return std::nullopt;
  return CommonDigits{*xs, *ys};
}

}  // namespace moonloop
