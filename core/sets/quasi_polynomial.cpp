#include "core/sets/quasi_polynomial.h"

#include <numeric>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

Val integer(std::int64_t n) { return isl_val_int_from_si(isl(), n); }
Val plus(const Val& a, const Val& b) { return isl_val_add(a.copy(), b.copy()); }
Val product(const Val& a, const Val& b) { return isl_val_mul(a.copy(), b.copy()); }
bool is_zero(const Val& v) { return yes(isl_val_is_zero(v.get())); }

/// B_k with B_1 = +1/2: the sum over j of binomial(k + 1, j)*B_j is k + 1.
const Val& bernoulli(std::size_t k) {
  thread_local std::vector<Val> known;
  while (known.size() <= k) {
    const auto n = static_cast<std::int64_t>(known.size());
    Val rest = integer(n + 1), binomial = integer(1);
    for (std::int64_t j = 0; j < n; ++j) {
      const Val part = product(binomial, known[static_cast<std::size_t>(j)]);
      rest = isl_val_sub(rest.take(), part.copy());
      binomial = isl_val_div(product(binomial, integer(n + 1 - j)).take(), integer(j + 1).take());
    }
    known.emplace_back(isl_val_div(rest.take(), integer(n + 1).take()));
  }
  return known[k];
}

/// 1**k + 2**k + ... + x**k as a polynomial in x.
QuasiPolynomial power_sum(int k, const QuasiPolynomial& x) {
  QuasiPolynomial out;
  Val binomial = integer(1);
  std::vector<QuasiPolynomial> power{QuasiPolynomial(1)};
  for (int i = 0; i <= k; ++i) power.push_back(power.back() * x);
  for (int j = 0; j <= k; ++j) {
    const Val c = isl_val_div(product(binomial, bernoulli(static_cast<std::size_t>(j))).take(),
                              integer(k + 1).take());
    out = out + power[static_cast<std::size_t>(k + 1 - j)].times(c);
    binomial = isl_val_div(product(binomial, integer(k + 1 - j)).take(), integer(j + 1).take());
  }
  return out;
}

}  // namespace

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t p = 0;
  if (__builtin_mul_overflow(a, b, &p)) throw TooHard{};
  return p;
}

Row combine(std::int64_t x, const Row& a, std::int64_t y, const Row& b) {
  Row out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (__builtin_add_overflow(checked_mul(x, a[i]), checked_mul(y, b[i]), &out[i]))
      throw TooHard{};
  return out;
}

QuasiPolynomial::QuasiPolynomial(const Val& constant) { add({}, constant); }
QuasiPolynomial::QuasiPolynomial(std::int64_t constant) : QuasiPolynomial(integer(constant)) {}

QuasiPolynomial::QuasiPolynomial(Row numerator, std::int64_t denominator) {
  const std::size_t columns = numerator.size() - 1;
  // Multiples of the divisor come out: floor((a*d + b)/d) is a + floor(b/d).
  for (std::size_t i = 0; i <= columns; ++i) {
    const std::int64_t whole = floor_div(numerator[i], denominator);
    numerator[i] = floor_mod(numerator[i], denominator);
    if (whole == 0) continue;
    Row alone(columns + 1, 0);
    alone[i] = 1;
    add(i == columns ? Monomial{} : Monomial{{Floor{std::move(alone), 1}, 1}}, integer(whole));
  }
  std::int64_t common = denominator;
  for (std::size_t i = 0; i < columns; ++i) common = std::gcd(common, numerator[i]);
  if (common == denominator) return;  // the rest is less than 1
  for (std::int64_t& c : numerator) c /= common;
  add({{Floor{std::move(numerator), denominator / common}, 1}}, integer(1));
}

void QuasiPolynomial::add(const Monomial& m, const Val& coefficient) {
  const auto [it, is_new] = terms_.try_emplace(m, coefficient);
  if (!is_new) it->second = plus(it->second, coefficient);
  if (moonloop::is_zero(it->second)) terms_.erase(it);
}

QuasiPolynomial QuasiPolynomial::operator+(const QuasiPolynomial& o) const {
  QuasiPolynomial out = *this;
  for (const auto& [m, c] : o.terms_) out.add(m, c);
  return out;
}
QuasiPolynomial QuasiPolynomial::operator-(const QuasiPolynomial& o) const {
  return *this + o.times(integer(-1));
}
QuasiPolynomial QuasiPolynomial::operator*(const QuasiPolynomial& o) const {
  QuasiPolynomial out;
  for (const auto& [m, c] : terms_)
    for (const auto& [n, d] : o.terms_) {
      Monomial both = m;
      for (const auto& [f, e] : n) both[f] += e;
      out.add(both, product(c, d));
    }
  if (out.terms_.size() > 5000) throw TooHard{};
  return out;
}
QuasiPolynomial QuasiPolynomial::times(const Val& factor) const {
  QuasiPolynomial out;
  for (const auto& [m, c] : terms_) out.add(m, product(c, factor));
  return out;
}

std::int64_t QuasiPolynomial::period(std::size_t column) const {
  std::int64_t out = 1;
  for (const auto& [m, c] : terms_)
    for (const auto& [f, e] : m) {
      if (f.denominator == 1 || f.numerator[column] == 0) continue;
      const std::int64_t own = f.denominator / std::gcd(f.denominator, f.numerator[column]);
      out = checked_mul(out / std::gcd(out, own), own);
    }
  return out;
}

QuasiPolynomial QuasiPolynomial::substitute(std::size_t column, const Row& row) const {
  QuasiPolynomial out;
  for (const auto& [m, c] : terms_) {
    QuasiPolynomial term(c);
    for (const auto& [f, e] : m) {
      Row numerator = f.numerator;
      const std::int64_t factor = numerator[column];
      if (factor != 0) {
        numerator[column] = 0;
        numerator = combine(1, numerator, factor, row);
      }
      const QuasiPolynomial base(std::move(numerator), f.denominator);
      for (int i = 0; i < e; ++i) term = term * base;
    }
    out = out + term;
  }
  return out;
}

std::vector<QuasiPolynomial> QuasiPolynomial::powers(std::size_t column) const {
  std::vector<QuasiPolynomial> out(1);
  for (const auto& [m, c] : terms_) {
    Monomial rest;
    std::size_t power = 0;
    for (const auto& [f, e] : m) {
      if (f.numerator[column] == 0)
        rest.emplace(f, e);
      else
        power = static_cast<std::size_t>(e);
    }
    if (out.size() <= power) out.resize(power + 1);
    out[power].add(rest, c);
  }
  return out;
}

QuasiPolynomial sum_over(const QuasiPolynomial& p, std::size_t column, const QuasiPolynomial& low,
                         const QuasiPolynomial& high) {
  const std::vector<QuasiPolynomial> powers = p.powers(column);
  const QuasiPolynomial before = low - QuasiPolynomial(1);
  QuasiPolynomial out;
  for (std::size_t k = 0; k < powers.size(); ++k) {
    if (powers[k].is_zero()) continue;
    const int exponent = static_cast<int>(k);
    out = out + powers[k] * (power_sum(exponent, high) - power_sum(exponent, before));
  }
  return out;
}

}  // namespace moonloop
