#include "core/count_set.h"

#include <doctest/doctest.h>

#include <random>

#include "core/count.h"
#include "core/diagnostic.h"
#include "core/domain.h"
#include "core/quasi_polynomial.h"

using namespace moonloop;  // NOLINT

namespace {

using Values = std::map<std::string, std::int64_t>;

Count counted(const std::string& set) { return Count(count_set(parse_set(set), "the points")); }

/// By enumeration, with isl.
std::int64_t enumerated(Set s, const Values& values) {
  const std::vector<std::string> names = param_names(s);
  for (std::size_t i = 0; i < names.size(); ++i)
    s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(i),
                        isl_val_int_from_si(isl(), values.at(names[i])));
  s = isl_set_project_out(s.take(), isl_dim_param, 0, static_cast<unsigned>(names.size()));
  return to_int(Val(isl_set_count_val(s.get())));
}

/// Compares for all values of n and m in a range.
void compare(const std::string& text, std::int64_t from, std::int64_t to, std::int64_t step = 1) {
  CAPTURE(text);
  const Set s = parse_set(text);
  const Count c(count_set(s, "the points"));
  int wrong = 0;
  for (std::int64_t n = from; n <= to; n += step)
    for (std::int64_t m = from; m <= to; m += step) {
      const Values at{{"n", n}, {"m", m}};
      const std::int64_t symbolic = c.number_at(at), expected = enumerated(s, at);
      if (symbolic == expected) continue;
      ++wrong;
      INFO(c.str() << " at n = " << n << ", m = " << m);
      CHECK(symbolic == expected);
    }
  CHECK(wrong == 0);
}

std::string failure(const std::string& set) {
  try {
    counted(set);
  } catch (const Error& e) { return e.diagnostic().code + ": " + e.diagnostic().text; }
  return "none";
}

/// Random sets of up to three dimensions: each dimension has two bounds or more over those before
/// it and the parameters, some with coefficients; strides, quotients, unions and projections.
class RandomSets {
 public:
  explicit RandomSets(unsigned seed) : random_(seed) {}

  std::string next() {
    std::string out = "[n, m] -> " + part();
    return out;
  }

 private:
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  std::string form(const std::vector<std::string>& names) {
    std::string out = std::to_string(pick(-4, 6));
    for (const std::string& n : names)
      if (chance(40)) out += " + " + std::to_string(pick(-1, 2)) + "*" + n;
    return out;
  }
  std::string part() {
    const int dims = pick(1, 3);
    std::vector<std::string> before, all;
    std::string conditions;
    for (int d = 0; d < dims; ++d) {
      const std::string x = std::string(1, static_cast<char>('i' + d));
      std::vector<std::string> names = before;
      names.insert(names.end(), {"n", "m"});
      const auto add = [&](const std::string& c) {
        conditions += (conditions.empty() ? "" : " and ") + c;
      };
      const std::string factor = chance(25) ? std::to_string(pick(2, 4)) + "*" : "";
      add(form(before) + " <= " + factor + x);
      add(factor + x + " <= " + form(names));
      if (chance(30)) add(x + " <= " + form(names));
      if (chance(20)) add(x + " >= " + form(names));
      if (chance(20)) add(x + " mod " + std::to_string(pick(2, 5)) + " = 1");
      if (chance(15)) add("floor((" + form(names) + ")/3) <= " + x);
      if (d > 0 && chance(15))
        add("(" + x + " + " + before.back() + ") mod 3 = " + std::to_string(pick(0, 2)));
      before.push_back(x);
    }
    if (chance(25)) {
      std::string other = before[0] + " >= 0 and ";
      for (const std::string& x : before) other += "-3 <= " + x + " <= 4 + m and ";
      conditions = "(" + conditions + ") or (" + other + before.back() + " <= n)";
    }
    std::string dimensions, bound;
    const std::size_t kept = chance(25) && before.size() > 1 ? before.size() - 1 : before.size();
    for (std::size_t d = 0; d < before.size(); ++d)
      (d < kept ? dimensions : bound) += (d == 0 || d == kept ? "" : ", ") + before[d];
    if (!bound.empty()) conditions = "exists " + bound + ": " + conditions;
    return "{ [" + dimensions + "] : " + conditions + " }";
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("count_set: boxes, triangles, simplices, tiles, strides as formulas") {
  CHECK(counted("[n, m] -> {[i, j]: 0 <= i < n and 0 <= j < m}").str() ==
        "n*m if n >= 1 and m >= 1 else 0");
  CHECK(counted("[n] -> {[i, j]: n >= 0 and 0 <= j <= i < n}").str() == "(n**2 + n)//2 if n >= 1 else 0");
  CHECK(counted("[n] -> {[i, j, k]: 0 <= k <= j <= i < n}").str() == "(n**3 + 3*n**2 + 2*n)//6 if n >= 1 else 0");
  CHECK(counted("[n] -> {[a, b]: 0 <= b < 16 and 0 <= 16*a + b < n}").str() == "n if n >= 1 else 0");
  CHECK(counted("[n] -> {[i]: 0 <= i < n and i mod 3 = 1}").str() == "((n + 1) // 3) if n >= 2 else 0");
  CHECK(counted("[n] -> {[i]: 0 <= i < floor(n/16)}").str() == "(n // 16) if n >= 16 else 0");
  CHECK(counted("[n] -> {[i]: n = 4*i and i >= 0}").str() == "1 if n % 4 == 0 and n >= 0 else 0");
  CHECK(counted("{[i, j]: 0 <= j <= i < 12}").str() == "78");
  CHECK(counted("{[]}").str() == "1");
  CHECK(counted("{[i]: 1 = 0}").str() == "0");
}

TEST_CASE("count_set: as enumeration has it, by hand") {
  for (const char* set :
       {"[n, m] -> {[i, j]: 0 <= i < n and 2*i - 3 <= 3*j <= i + m}",
        "[n, m] -> {[i, j]: 0 <= i < n and 0 <= j < m and (i + j) mod 4 = 2}",
        "[n, m] -> {[i, j, k]: 0 <= i < n and i <= j < m and j - i <= k <= i + j}",
        "[n, m] -> {[i, j]: 0 <= i < n and j = floor(i/3)}",
        "[n, m] -> {[i]: exists e: i = 3*e and m <= e <= n}",
        "[n, m] -> {[i, j]: 0 <= i, j < n and 3*i + 5*j <= m}",
        "[n, m] -> {[i, j]: 0 <= i < n and (j = i or j = 2*i or 0 <= j < m)}",
        "[n, m] -> {[i, j]: exists a, b: i = 2*a + 3*b and 0 <= a, b < m and 0 <= j < i}",
        "[n, m] -> {[i, j]: max(0, i - m) <= j <= min(i + m, n - 1) and 0 <= i < n}",
        "[n, m] -> {[i, j, a, b]: 0 <= b < 4 and 0 <= 4*a + b < n and 0 <= j < 3 and "
        "0 <= 3*i + j <= 4*a + b + m}"})
    compare(set, -3, 17);
}

TEST_CASE("count_set: as enumeration has it, for random sets") {
  RandomSets sets(20);
  int hard = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string text = sets.next();
    try {
      compare(text, -4, 14, 3);
    } catch (const Error& e) {
      CHECK(e.diagnostic().code == "count-too-hard");
      ++hard;
    }
  }
  CHECK(hard <= 3);
}

TEST_CASE("count_set: numbers beyond 64 bits are exact") {
  const Count c = counted("[n] -> {[i, j, k]: 0 <= i, j, k < n}");
  CHECK(yes(isl_val_eq(c.eval({{"n", 1 << 30}}).get(), Val(isl_val_2exp(
                           isl_val_int_from_si(isl(), 90))).get())));
  try {
    c.number_at({{"n", 1 << 30}});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "size-overflow");
    CHECK(e.diagnostic().text ==
          "the count is 1237940039285380274899124224, which 64 bits do not hold");
  }
}

TEST_CASE("count_set: what has no number says so") {
  CHECK(failure("[n] -> {[i]: i >= n}") == "unbounded-count: the points are infinitely many");
  CHECK(failure("[n] -> {[i, j]: 0 <= i < n}") ==
        "unbounded-count: the points are infinitely many");
  CHECK(failure("[n] -> {[i, j, k, l]: 0 <= 97*i + 89*j + 83*k + 79*l <= n and 53*i + 47*j <= n "
                "and i, j, k, l >= 0 and 41*k + 37*l <= n + 31*i and 29*l <= n + 23*j}") ==
        "count-too-hard: counting the points takes too many steps");
  try {
    counted("[n] -> {[i]: 0 <= i < n}").number_at({{"m", 3}});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "missing-parameter");
    CHECK(e.diagnostic().text == "the count depends on `n`, which has no value");
  }
}

TEST_CASE("count: sums, products, contexts") {
  const Count triangle = counted("[n] -> {[i, j]: 0 <= j <= i < n}");
  const Count line = counted("[m] -> {[i]: 0 <= i < m}");
  CHECK(triangle.parameters() == std::vector<std::string>{"n"});
  CHECK((triangle + line).number_at({{"n", 4}, {"m", 7}}) == 17);
  CHECK((triangle * line).number_at({{"n", 4}, {"m", 7}}) == 70);
  CHECK(triangle.times(3).number_at({{"n", 4}}) == 30);
  CHECK((triangle + Count(5)).number_at({{"n", 4}}) == 15);
  CHECK(triangle.under(parse_assumption("n >= 1")).str() == "(n**2 + n)//2");
  CHECK(triangle.as_bound().under(parse_assumption("n >= 1")).str() == "at most (n**2 + n)//2");
  CHECK_FALSE((triangle + line.as_bound()).exact());
  CHECK(Count().is_zero());
  CHECK(Count().str() == "0");
}
