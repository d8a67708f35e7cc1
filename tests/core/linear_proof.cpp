#include "core/sets/linear_proof.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <string>

using namespace moonloop;

namespace {

LinearProof proof_of(const std::string& text) {
  const Set s = isl_set_read_from_str(isl(), text.c_str());
  const auto rows = linear_rows(s);
  REQUIRE(rows.has_value());
  LinearProof out(rows->dims + rows->params.size() + rows->quotients);
  for (const LinearForm& f : rows->zero) out.zero(f);
  for (const LinearForm& f : rows->not_negative) out.not_negative(f);
  return out;
}

}  // namespace

TEST_CASE("linear proofs: of bounds, of tiles, of divisors") {
  CHECK(proof_of("[n] -> { [i, j] : 0 <= i < n and i < j < n and j < i + 1 }").impossible());
  CHECK_FALSE(proof_of("[n] -> { [i, j] : 0 <= i < n and i < j < n }").impossible());
  // An earlier tile has no later element.
  CHECK(proof_of("{ [a, b, c, d] : 0 <= b, d < 16 and 16a + b < 16c + d and a > c }").impossible());
  CHECK_FALSE(
      proof_of("{ [a, b, c, d] : 0 <= b, d < 18 and 16a + b < 16c + d and a > c }").impossible());
  LinearProof odd(2);  // 2i = 4j + 1
  odd.zero({{{0, 2}, {1, -4}}, -1});
  CHECK(odd.impossible());
  LinearProof between(1);  // 1 <= 3i <= 2
  between.not_negative({{{0, 3}}, -1});
  between.not_negative({{{0, -3}}, 2});
  CHECK(between.impossible());
}

TEST_CASE("linear proofs: no integers between corners") {
  LinearProof coins = proof_of("{ [a, b] : a, b >= 0 and 5a + 7b = 11 }");
  CHECK_FALSE(coins.impossible());
  CHECK(coins.any() == false);
  CHECK(proof_of("{ [a, b] : a, b >= 0 and 5a + 7b = 12 }").any() == true);
}

TEST_CASE("linear proofs: variables that come late, and copies that go their own way") {
  LinearProof chain(1);
  constexpr std::size_t kLength = 20;
  for (std::size_t v = 0; v < kLength; ++v) {
    const std::size_t next = chain.add_variable();
    chain.zero({{{next, 1}, {v, -1}}, -1});  // one more than the one before
    chain.not_negative({{{next, 1}}, 0});
  }
  LinearProof more = chain, less = chain;
  more.not_negative({{{kLength, 1}, {0, -1}}, -std::int64_t(kLength) - 1});
  less.not_negative({{{kLength, -1}, {0, 1}}, std::int64_t(kLength)});
  CHECK(more.impossible());
  CHECK(less.any() == true);
  CHECK(chain.any() == true);
  const std::size_t last = less.add_variable();
  less.zero({{{last, 2}, {0, -2}}, -1});  // no integer
  CHECK(less.impossible());
  CHECK_FALSE(chain.impossible());
}

TEST_CASE("linear proofs: a point of what they are about") {
  const auto point = proof_of("[n] -> { [i, j] : 3 <= i < n and j = 2i + 1 and n >= 9 }").point();
  REQUIRE(point.has_value());
  const std::int64_t i = (*point)[0], j = (*point)[1], n = (*point)[2];
  CHECK(i >= 3);
  CHECK(i < n);
  CHECK(n >= 9);
  CHECK(j == 2 * i + 1);
  CHECK_FALSE(proof_of("[n] -> { [i] : 3 <= i < n and n <= 3 }").point().has_value());
}

TEST_CASE("linear proofs: what they show, isl shows") {
  std::mt19937 random(20261129);
  const auto any = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  int shown = 0, empty = 0, found = 0, others = 0;
  for (int round = 0; round < 3000; ++round) {
    const int n = any(1, 5);
    std::string text = "{ [a0";
    for (int i = 1; i < n; ++i) text += fmt::format(", a{}", i);
    text += "] : ";
    LinearProof proof(static_cast<std::size_t>(n));
    for (int c = any(1, 8); c > 0; --c) {
      const bool equality = any(0, 3) == 0;
      LinearForm f;
      f.constant = any(-9, 9);
      for (int i = 0; i < n; ++i) {
        const int factor = any(0, 2) == 0 ? any(-16, 16) : any(-1, 1);
        f.terms.emplace_back(i, factor);
        text += fmt::format("{}*a{} + ", factor, i);
      }
      text += fmt::format("{} {} 0{}", f.constant, equality ? "=" : ">=", c > 1 ? " and " : " }");
      if (any(0, 2) == 0) CHECK((!proof.impossible() || true));  // in between, as orders ask
      if (equality)
        proof.zero(f);
      else
        proof.not_negative(f);
    }
    const bool is_empty =
        yes(isl_set_is_empty(Set(isl_set_read_from_str(isl(), text.c_str())).get()));
    const bool impossible = proof.impossible(), possible = proof.possible();
    if ((impossible && !is_empty) || (possible && is_empty)) FAIL(text);
    if (const auto any = proof.any(); any && *any == is_empty) FAIL(text);
    shown += impossible, empty += is_empty, found += possible, others += !is_empty;
  }
  CHECK(10 * found > 9 * others);
  CHECK(shown > 1000);
  CHECK(10 * shown > 9 * empty);
}

TEST_CASE("linear proofs: orders of loops and of their tiles") {
  // Variables: i = 4t + r of the first instance, then of the second.
  const auto tiles = [] {
    LinearProof out(4);
    for (const std::size_t r : {1, 3}) {
      out.not_negative({{{r, 1}}, 0});
      out.not_negative({{{r, -1}}, 3});
    }
    return out;
  };
  const LinearForm along_i{{{2, 4}, {3, 1}, {0, -4}, {1, -1}}, 0};
  const LoopLag t{{{{2, 1}, {0, -1}}, 0}}, r{{{{3, 1}, {1, -1}}, 0}};
  const LoopLag t_at_once{t.later, false};
  CHECK(keeps_order(tiles(), {along_i}, false, {t, r}, false) == true);
  CHECK(keeps_order(tiles(), {along_i}, false, {r, t}, false) == false);
  CHECK(keeps_order(tiles(), {along_i}, false, {t_at_once, r}, false) == false);
  CHECK(keeps_order(tiles(), {along_i}, true, {t, r}, true) == true);
  CHECK(keeps_order(tiles(), {along_i}, true, {t, r}, false) == false);
}

TEST_CASE("linear proofs: waves of tiles, which need that numbers of tiles are integers") {
  // x = 4a + p and y = 4b + q of the first instance, then of the second, which is later along x
  // and not earlier along y.
  enum { A, P, B, Q, C, R, D, S };
  LinearProof pairs(8);
  for (const std::size_t within : {P, Q, R, S}) {
    pairs.not_negative({{{within, 1}}, 0});
    pairs.not_negative({{{within, -1}}, 3});
  }
  const LinearForm x{{{C, 4}, {R, 1}, {A, -4}, {P, -1}}, 0},
      y{{{D, 4}, {S, 1}, {B, -4}, {Q, -1}}, 0};
  const LoopLag a{{{{C, 1}, {A, -1}}, 0}}, b{{{{D, 1}, {B, -1}}, 0}},
      wave{{{{C, 1}, {D, 1}, {A, -1}, {B, -1}}, 0}}, p{{{{R, 1}, {P, -1}}, 0}};
  CHECK(keeps_order(pairs, {x}, false, {wave, a, b, p}, false) == false);
  pairs.not_negative(y);
  CHECK(keeps_order(pairs, {x}, false, {wave, a, b, p}, false) == true);
  CHECK(keeps_order(pairs, {x}, false, {wave, {a.later, false}, b, p}, false) == true);
  CHECK(keeps_order(pairs, {x}, false, {{wave.later, false}, a, b, p}, false) == false);
}

TEST_CASE("linear proofs: numbers beyond a word show nothing") {
  LinearProof large(2);
  large.not_negative({{{0, INT64_MAX / 2}, {1, 3}}, 0});
  large.not_negative({{{0, -3}, {1, -INT64_MAX / 2}}, -1});
  large.not_negative({{{1, INT64_MAX / 2}, {0, 5}}, -7});
  CHECK_FALSE(large.impossible());
  CHECK_FALSE(weighted_sum(INT64_MAX, {{{0, 2}}, 0}, 0, {}).has_value());
  CHECK_FALSE(
      linear_rows(Set(isl_set_read_from_str(isl(), "{ [i] : i = 0 or i = 2 }"))).has_value());
}

TEST_CASE("linear proofs: updates that commute run one after the other") {
  // Variables: t and r of i = 4t + r, of the first instance and of the second.
  LinearProof pairs(4);
  for (const std::size_t r : {std::size_t{1}, std::size_t{3}}) {
    pairs.not_negative({{{r, 1}}, 0});
    pairs.not_negative({{{r, -1}}, 3});
  }
  const LinearForm i{{{2, 4}, {3, 1}, {0, -4}, {1, -1}}, 0};
  const LoopLag t{{{{2, 1}, {0, -1}}, 0}}, r{{{{3, 1}, {1, -1}}, 0}};
  CHECK(keeps_apart(pairs, {i}, {r, t}, false) == true);
  CHECK(keeps_apart(pairs, {i}, {t}, false) == false);  // two of a tile in one iteration
  CHECK(keeps_apart(pairs, {i}, {t}, true) == true);
  CHECK(keeps_apart(pairs, {i}, {{t.later, false}, r}, false) == false);
}
