#include "core/count/count.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/quasi_polynomial.h"

namespace moonloop {
namespace {

struct Piece {
  Set domain;
  QPolynomial value;
};
std::vector<Piece> pieces_of(const PwQPolynomial& p) {
  std::vector<Piece> out;
  const auto add = [](isl_set* domain, isl_qpolynomial* value, void* to) {
    static_cast<std::vector<Piece>*>(to)->push_back({domain, value});
    return isl_stat_ok;
  };
  check(isl_pw_qpolynomial_foreach_piece(p.get(), add, &out));
  return out;
}

std::string text_of(const Val& v) {
  char* text = isl_val_to_str(v.get());
  std::string out = text;
  free(text);
  return out;
}

/// Merges pieces for which one formula holds, such as `2 if n == 1` and
/// `(n**2 + 3*n)//2 if n >= 2`, as long as there are few.
PwQPolynomial merged(PwQPolynomial given) {
  constexpr std::size_t kFew = 16;
  const PwQPolynomial p = isl_pw_qpolynomial_coalesce(given.take());
  std::vector<Piece> pieces = pieces_of(p);
  if (pieces.size() < 2 || pieces.size() > kFew) return p;
  const auto within = [](const QPolynomial& q, const Set& domain) {
    return QPolynomial(isl_qpolynomial_gist(q.copy(), domain.copy()));
  };
  bool changed = false;
  for (std::size_t i = 0; i < pieces.size();) {
    const QPolynomial own = within(pieces[i].value, pieces[i].domain);
    const auto wider = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& other) {
      return &other != &pieces[i] && yes(isl_qpolynomial_plain_is_equal(
                                         own.get(), within(other.value, pieces[i].domain).get()));
    });
    if (wider == pieces.end()) {
      ++i;
      continue;
    }
    Set both = isl_set_union(wider->domain.take(), pieces[i].domain.copy());
    wider->domain = coalesce(both.take());
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  if (!changed) return p;
  PwQPolynomial out = isl_pw_qpolynomial_zero(isl_pw_qpolynomial_get_space(p.get()));
  for (Piece& piece : pieces) {
    PwQPolynomial one = isl_pw_qpolynomial_alloc(piece.domain.take(), piece.value.take());
    out = isl_pw_qpolynomial_add_disjoint(out.take(), one.take());
  }
  return out;
}

/// The sum of two counts with the same cases, such as those of two operations of one statement;
/// nothing for others. isl would simplify each formula for its case again, which takes seconds
/// where that has large divisors.
std::optional<PwQPolynomial> sum_by_cases(const PwQPolynomial& a, const PwQPolynomial& b) {
  const std::vector<Piece> mine = pieces_of(a), others = pieces_of(b);
  if (mine.size() != others.size()) return {};
  PwQPolynomial out = isl_pw_qpolynomial_zero(isl_pw_qpolynomial_get_space(a.get()));
  for (const Piece& p : mine) {
    const auto q = std::find_if(others.begin(), others.end(), [&](const Piece& o) {
      return yes(isl_set_plain_is_equal(p.domain.get(), o.domain.get()));
    });
    if (q == others.end()) return {};
    const QPolynomial sum = isl_qpolynomial_add(p.value.copy(), q->value.copy());
    if (yes(isl_qpolynomial_is_zero(sum.get()))) return {};
    out = isl_pw_qpolynomial_add_disjoint(out.take(),
                                          isl_pw_qpolynomial_alloc(p.domain.copy(), sum.copy()));
  }
  return out;
}

// ---- Text ---------------------------------------------------------------------------------------

using IslTerm = Owner<isl_term, isl_term_copy, isl_term_free>;

/// One product of a polynomial.
struct Term {
  Val coefficient;
  int degree = 0;
  std::string product;  // empty: 1
};

std::vector<Term> terms_of(const QPolynomial& p) {
  std::vector<IslTerm> list;
  const auto add = [](isl_term* t, void* to) {
    static_cast<std::vector<IslTerm>*>(to)->emplace_back(t);
    return isl_stat_ok;
  };
  check(isl_qpolynomial_foreach_term(p.get(), add, &list));
  const Space space = isl_qpolynomial_get_domain_space(p.get());
  std::vector<Term> out;
  for (const IslTerm& t : list) {
    Term term{isl_term_get_coefficient_val(t.get()), 0, {}};
    const auto factor = [&](const std::string& base, int exponent) {
      if (exponent == 0) return;
      term.degree += exponent;
      if (!term.product.empty()) term.product += "*";
      term.product += base + (exponent == 1 ? "" : fmt::format("**{}", exponent));
    };
    const auto each = [&](isl_dim_type type, auto name) {
      for (int i = 0; i < moonloop::count(isl_term_dim(t.get(), type)); ++i) {
        const auto at = static_cast<unsigned>(i);
        const int exponent = moonloop::count(isl_term_get_exp(t.get(), type, at));
        if (exponent > 0) factor(name(at), exponent);
      }
    };
    each(isl_dim_param, [&](unsigned i) {
      return std::string(isl_space_get_dim_name(space.get(), isl_dim_param, i));
    });
    each(isl_dim_div, [&](unsigned i) {
      const Aff quotient = isl_term_get_div(t.get(), i);
      return "(" + to_string(from_aff(isl_aff_floor(quotient.copy()))) + ")";
    });
    out.push_back(std::move(term));
  }
  std::sort(out.begin(), out.end(), [](const Term& a, const Term& b) {
    return a.degree != b.degree ? a.degree > b.degree : a.product < b.product;
  });
  return out;
}

/// A sum over one denominator.
std::string text_of(const QPolynomial& p) {
  const std::vector<Term> terms = terms_of(p);
  if (terms.empty()) return "0";
  Val common = isl_val_one(isl());
  for (const Term& t : terms) {
    const Val d = isl_val_get_den_val(t.coefficient.get());
    const Val divisor = isl_val_gcd(common.copy(), d.copy());
    common = isl_val_mul(common.take(), isl_val_div(d.copy(), divisor.copy()));
  }
  std::string sum;
  for (const Term& t : terms) {
    const Val c = isl_val_mul(t.coefficient.copy(), common.copy());
    const Val size = isl_val_abs(c.copy());
    const bool negative = yes(isl_val_is_neg(c.get()));
    sum += sum.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (t.product.empty() || !yes(isl_val_is_one(size.get())))
      sum += text_of(size) + (t.product.empty() ? "" : "*");
    sum += t.product;
  }
  if (yes(isl_val_is_one(common.get()))) return sum;
  return (terms.size() > 1 ? "(" + sum + ")" : sum) + "//" + text_of(common);
}

/// `p` with the parameters of `model` too.
PwQPolynomial aligned(const PwQPolynomial& p, const PwQPolynomial& model) {
  Set all = isl_set_universe(isl_space_params(isl_pw_qpolynomial_get_domain_space(model.get())));
  return isl_pw_qpolynomial_intersect_params(p.copy(), all.take());
}

/// The result of `f`, if isl takes no more than a fixed number of steps; fails `count-too-hard`.
template <class F>
PwQPolynomial bounded(F f) {
  try {
    const IslBudget budget(kProofOperations);
    return merged(f());
  } catch (const IslQuota&) {
    fail("count-too-hard", {}, "putting counts with many cases together takes too many steps");
  }
}

PwQPolynomial from_constant(std::int64_t n) {
  Space params = isl_space_params_alloc(isl(), 0);
  return isl_pw_qpolynomial_from_qpolynomial(
      isl_qpolynomial_val_on_domain(params.take(), isl_val_int_from_si(isl(), n)));
}

}  // namespace

Count::Count(std::int64_t constant) : number_(from_constant(constant)) {}
Count::Count(PwQPolynomial number, bool exact)
    : number_(bounded([&] { return std::move(number); })), exact_(exact) {}

bool Count::is_zero() const { return yes(isl_pw_qpolynomial_is_zero(number_.get())); }

Count Count::operator+(const Count& o) const {
  Count out;
  if (auto sum = sum_by_cases(number_, o.number_))
    out.number_ = *std::move(sum);
  else
    out.number_ = bounded(
        [&] { return PwQPolynomial(isl_pw_qpolynomial_add(number_.copy(), o.number_.copy())); });
  out.exact_ = exact_ && o.exact_;
  return out;
}
Count Count::operator*(const Count& o) const {
  Count out;
  out.number_ = bounded([&] {  // unlike sums, isl's products want the parameters of both alike
    const PwQPolynomial a = aligned(number_, o.number_);
    return PwQPolynomial(isl_pw_qpolynomial_mul(a.copy(), aligned(o.number_, a).take()));
  });
  out.exact_ = exact_ && o.exact_;
  return out;
}
Count Count::times(std::int64_t factor) const {
  return Count(isl_pw_qpolynomial_scale_val(number_.copy(), isl_val_int_from_si(isl(), factor)),
               exact_);
}
Count Count::as_bound() const {
  Count out = *this;
  out.exact_ = false;
  return out;
}
Count Count::under(const Set& context) const {
  PwQPolynomial p = isl_pw_qpolynomial_gist_params(number_.copy(), context.copy());
  return Count(std::move(p), exact_);
}

std::vector<std::string> Count::parameters() const {
  const PwQPolynomial p = isl_pw_qpolynomial_drop_unused_params(number_.copy());
  const Space space = isl_pw_qpolynomial_get_domain_space(p.get());
  std::vector<std::string> out;
  for (int i = 0; i < moonloop::count(isl_space_dim(space.get(), isl_dim_param)); ++i)
    out.emplace_back(isl_space_get_dim_name(space.get(), isl_dim_param, static_cast<unsigned>(i)));
  return out;
}

Val Count::eval(const std::map<std::string, std::int64_t>& values) const {
  const PwQPolynomial p = isl_pw_qpolynomial_drop_unused_params(number_.copy());
  Point at = isl_point_zero(isl_pw_qpolynomial_get_domain_space(p.get()));
  const std::vector<std::string> names = parameters();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto it = values.find(names[i]);
    if (it == values.end())
      fail("missing-parameter", {}, "the count depends on `{}`, which has no value", names[i]);
    at = isl_point_set_coordinate_val(at.take(), isl_dim_param, static_cast<int>(i),
                                      isl_val_int_from_si(isl(), it->second));
  }
  return isl_pw_qpolynomial_eval(p.copy(), at.take());
}

std::int64_t Count::number_at(const std::map<std::string, std::int64_t>& values) const {
  const Val v = eval(values);
  const long n = isl_val_get_num_si(v.get());
  if (isl_val_cmp_si(v.get(), n) != 0)
    fail("size-overflow", {}, "the count is {}, which 64 bits do not hold", text_of(v));
  return n;
}

std::string Count::str() const {
  std::string out = exact_ ? "" : "at most ";
  const std::vector<Piece> pieces = pieces_of(number_);
  if (pieces.empty()) return out + "0";
  for (const Piece& p : pieces) {
    const std::string value = text_of(p.value);
    if (yes(isl_set_plain_is_universe(p.domain.get()))) return out + value;
    out += fmt::format("{} if {} else ", value, to_string(from_set(p.domain)));
  }
  return out + "0";
}

}  // namespace moonloop
