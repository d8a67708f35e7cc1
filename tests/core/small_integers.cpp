#include <doctest/doctest.h>
#include <gmp.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/sets/isl.h"

using namespace moonloop;

namespace {

/// Integers around the ends of what one word holds, and of half of that.
std::vector<std::string> integers() {
  std::vector<std::string> out{"0", "1", "2", "3", "6", "35", "4294967296"};
  for (const char* n :
       {"9223372036854775807", "9223372036854775808", "9223372036854775809", "18446744073709551615",
        "18446744073709551616", "18446744073709551617", "340282366920938463463374607431768211456"})
    out.emplace_back(n);
  for (std::size_t i = 1, n = out.size(); i < n; ++i) out.push_back("-" + out[i]);
  return out;
}

std::string text_of(mpz_srcptr a) {
  char* text = mpz_get_str(nullptr, 10, a);
  std::string out(text);
  void (*give_back)(void*, std::size_t) = nullptr;
  mp_get_memory_functions(nullptr, nullptr, &give_back);
  give_back(text, out.size() + 1);
  return out;
}

/// An integer by functions that are not replaced: a word more than the value needs.
struct Integer {
  mpz_t n{};
  explicit Integer(const std::string& text) { mpz_init_set_str(n, text.c_str(), 10); }
  ~Integer() { mpz_clear(n); }
  Integer(const Integer&) = delete;
  Integer& operator=(const Integer&) = delete;
};

/// As above for a result that has an own value and room before.
template <class F>
std::string result(F compute, const std::string& a, const std::string& b,
                   const std::string& before) {
  const Integer x(a), y(b);
  Integer r(before);
  compute(r.n, x.n, y.n);
  CHECK((r.n->_mp_size == 0 || r.n->_mp_d[std::abs(r.n->_mp_size) - 1] != 0));
  return text_of(r.n);
}

}  // namespace

TEST_CASE("integers: words and more give the same sums, products, quotients and orders") {
  // The same by twice the number of words: all beyond what one word holds.
  const std::string shift = "340282366920938463463374607431768211456";  // 2^128
  const auto scaled = [&](const std::string& a) {
    return result([](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_mul(r, x, y); }, a, shift, "1");
  };
  for (const std::string& a : integers())
    for (const std::string& b : integers()) {
      CAPTURE(a);
      CAPTURE(b);
      const std::string s = scaled(a), t = scaled(b);
      const auto both = [&](auto f) {
        CHECK(scaled(result(f, a, b, "7")) == result(f, s, t, "7"));
      };
      both([](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_add(r, x, y); });
      both([](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_sub(r, x, y); });
      both([](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_gcd(r, x, y); });
      both([](mpz_ptr r, mpz_srcptr x, mpz_srcptr) { mpz_set(r, x); });
      const auto product = [](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_mul(r, x, y); };
      CHECK(scaled(result(product, a, b, "7")) == result(product, s, b, "7"));
      for (const std::string& c : integers()) {
        const std::string u = scaled(c);
        const auto more = [](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_addmul(r, x, y); };
        const auto less = [](mpz_ptr r, mpz_srcptr x, mpz_srcptr y) { mpz_submul(r, x, y); };
        CHECK(scaled(result(more, a, b, c)) == result(more, s, b, u));
        CHECK(scaled(result(less, a, b, c)) == result(less, s, b, u));
      }
      const Integer x(a), y(b), v(s), w(t);
      const auto sign = [](int n) { return (n > 0) - (n < 0); };
      CHECK(sign(mpz_cmp(x.n, y.n)) == sign(mpz_cmp(v.n, w.n)));
      CHECK(sign(mpz_cmpabs(x.n, y.n)) == sign(mpz_cmpabs(v.n, w.n)));
      if (b == "0") continue;
      const auto floor = [](mpz_ptr r, mpz_srcptr m, mpz_srcptr n) { mpz_fdiv_q(r, m, n); };
      CHECK(result(floor, a, b, "7") == result(floor, s, t, "7"));
      const auto exact = [](mpz_ptr r, mpz_srcptr m, mpz_srcptr n) { mpz_divexact(r, m, n); };
      CHECK(result(exact, result(product, a, b, "7"), b, "7") == a);
    }
}

TEST_CASE("integers: results without room for a word get it") {
  for (const long n : {0L, 1L, -1L, INT64_MAX, INT64_MIN}) {
    mpz_t r, zero;
    mpz_init(r);  // GMP takes room with the first value
    mpz_init(zero);
    mpz_set_si(r, n);
    CHECK(text_of(r) == std::to_string(n));
    mpz_t copy;
    mpz_init(copy);
    mpz_set(copy, r);
    CHECK(mpz_cmp(copy, r) == 0);
    mpz_t sum;
    mpz_init(sum);
    mpz_add(sum, zero, r);
    CHECK(mpz_cmp(sum, r) == 0);
    mpz_clears(r, zero, copy, sum, nullptr);
  }
}

TEST_CASE("integers: isl's divisors in common") {
  const auto gist = [](const char* set) { return str(Set(isl_set_read_from_str(isl(), set))); };
  CHECK(gist("{ [i, j] : 6i + 10j >= 15 }") == "{ [i, j] : 5j >= 8 - 3i }");
  CHECK(gist("{ [i, j] : 0i + 0j >= 3 }") == "{ [i, j] : false }");
  CHECK(gist("{ [i, j] : 18446744073709551616 i = 36893488147419103232 j }") ==
        "{ [i, j] : 2j = i }");
  CHECK(gist("{ [i] : 6i = 4 }") == "{ [i] : false }");
}
