#include "core/count/count_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "core/base/diagnostic.h"
#include "core/count/count.h"
#include "core/model/domain.h"
#include "core/sets/quasi_polynomial.h"

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
  s = isl_set_compute_divs(isl_set_coalesce(s.take()));
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

/// A random set of up to three dimensions, as text and as data for a plain walk over its points.
/// Each dimension has two bounds or more over those before it and the parameters, some with
/// coefficients; then strides, quotients, unions and projections.
class RandomSet {
 public:
  explicit RandomSet(std::mt19937& random) : random_(random) {
    const int dims = pick(1, 3);
    for (int d = 0; d < dims; ++d) {
      Axis axis;
      axis.factor = chance(25) ? pick(2, 4) : 1;
      axis.low = form(d, false);
      axis.high = form(d, true);
      axes_.push_back(axis);
      const Form x = only(d);
      if (chance(30)) conditions_.push_back({Condition::AtMost, x, form(d, true), 0, 0});
      if (chance(20)) conditions_.push_back({Condition::AtMost, form(d, true), x, 0, 0});
      if (chance(20)) conditions_.push_back({Condition::Modulo, x, {}, pick(2, 5), 1});
      if (chance(15)) conditions_.push_back({Condition::Quotient, form(d, true), x, 3, 0});
      if (d > 0 && chance(15)) {
        Form sum = x;
        sum.factor[0] = 1;
        conditions_.push_back({Condition::Modulo, sum, {}, 3, pick(0, 2)});
      }
    }
    either_ = chance(25);
    kept_ = dims > 1 && chance(25) ? dims - 1 : dims;
  }

  std::string text() const {
    std::string all;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const std::string x = fmt::format("{}*{}", axes_[d].factor, names()[d]);
      all += fmt::format("{}{} <= {} <= {}", d ? " and " : "", text(axes_[d].low), x,
                         text(axes_[d].high));
    }
    for (const Condition& c : conditions_) {
      if (c.kind == Condition::AtMost) all += fmt::format(" and {} <= {}", text(c.a), text(c.b));
      if (c.kind == Condition::Modulo)
        all += fmt::format(" and ({}) mod {} = {}", text(c.a), c.divisor, c.rest);
      if (c.kind == Condition::Quotient)
        all += fmt::format(" and floor(({})/{}) <= {}", text(c.a), c.divisor, text(c.b));
    }
    if (either_) {
      std::string box;
      for (std::size_t d = 0; d < axes_.size(); ++d)
        box += fmt::format("{}-3 <= {} <= 4 + m", d ? " and " : "", names()[d]);
      all = fmt::format("({}) or ({} and {} <= n)", all, box, names()[axes_.size() - 1]);
    }
    std::vector<std::string> kept(names().begin(), names().begin() + kept_),
        bound(names().begin() + kept_, names().begin() + std::ptrdiff_t(axes_.size()));
    if (!bound.empty()) all = fmt::format("exists {}: {}", fmt::join(bound, ", "), all);
    return fmt::format("[n, m] -> {{ [{}] : {} }}", fmt::join(kept, ", "), all);
  }

  std::int64_t points(std::int64_t n, std::int64_t m) const {
    std::set<Point> found;
    Point at{0, 0, 0, n, m};
    walk(0, at, found, false);
    if (either_) walk(0, at, found, true);
    return static_cast<std::int64_t>(found.size());
  }

 private:
  using Point = std::array<std::int64_t, 5>;  // i, j, k, n, m
  struct Form {
    std::array<std::int64_t, 5> factor{};
    std::int64_t constant = 0;
    std::int64_t at(const Point& p) const {
      std::int64_t v = constant;
      for (std::size_t i = 0; i < 5; ++i) v += factor[i] * p[i];
      return v;
    }
  };
  struct Axis {
    std::int64_t factor = 1;
    Form low, high;
  };
  struct Condition {
    enum Kind { AtMost, Modulo, Quotient } kind;
    Form a, b;
    std::int64_t divisor, rest;
    bool holds(const Point& p) const {
      switch (kind) {
        case AtMost: return a.at(p) <= b.at(p);
        case Modulo: return (a.at(p) % divisor + divisor) % divisor == rest;
        case Quotient: return a.at(p) < divisor * (b.at(p) + 1);
      }
      return false;
    }
  };

  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  static const std::vector<std::string>& names() {
    static const std::vector<std::string> kNames{"i", "j", "k", "n", "m"};
    return kNames;
  }
  static Form only(int d) {
    Form f;
    f.factor[std::size_t(d)] = 1;
    return f;
  }
  Form form(int dims, bool parameters) {
    Form f;
    f.constant = pick(-4, 6);
    for (int d = 0; d < dims; ++d)
      if (chance(40)) f.factor[std::size_t(d)] = pick(-1, 1);
    for (std::size_t p = 3; parameters && p < 5; ++p)
      if (chance(40)) f.factor[p] = pick(-1, 1);
    return f;
  }
  static std::string text(const Form& f) {
    std::string out = std::to_string(f.constant);
    for (std::size_t i = 0; i < 5; ++i)
      if (f.factor[i] != 0) out += fmt::format(" + {}*{}", f.factor[i], names()[i]);
    return out;
  }

  void walk(std::size_t d, Point at, std::set<Point>& found, bool box) const {
    if (d == axes_.size()) {
      const bool in = box ? at[d - 1] <= at[3]
                          : std::all_of(conditions_.begin(), conditions_.end(),
                                        [&](const Condition& c) { return c.holds(at); });
      if (!in) return;
      for (std::size_t i = std::size_t(kept_); i < 3; ++i) at[i] = 0;
      found.insert(at);
      return;
    }
    const Axis& a = axes_[d];
    const std::int64_t low = box ? -3 : a.low.at(at), high = box ? 4 + at[4] : a.high.at(at);
    const std::int64_t factor = box ? 1 : a.factor;
    for (std::int64_t x = std::min<std::int64_t>(low, 0) - 1; factor * x <= high; ++x) {
      if (factor * x < low) continue;
      at[d] = x;
      walk(d + 1, at, found, box);
    }
  }

  std::mt19937& random_;
  std::vector<Axis> axes_;
  std::vector<Condition> conditions_;
  bool either_ = false;
  int kept_ = 1;
};

}  // namespace

TEST_CASE("count_set: boxes, triangles, simplices, tiles, strides as formulas") {
  CHECK(counted("[n, m] -> {[i, j]: 0 <= i < n and 0 <= j < m}").str() ==
        "n*m if n >= 1 and m >= 1 else 0");
  CHECK(counted("[n] -> {[i, j]: n >= 0 and 0 <= j <= i < n}").str() ==
        "(n**2 + n)//2 if n >= 1 else 0");
  CHECK(counted("[n] -> {[i, j, k]: 0 <= k <= j <= i < n}").str() ==
        "(n**3 + 3*n**2 + 2*n)//6 if n >= 1 else 0");
  CHECK(counted("[n] -> {[a, b]: 0 <= b < 16 and 0 <= 16*a + b < n}").str() ==
        "n if n >= 1 else 0");
  CHECK(counted("[n] -> {[i]: 0 <= i < n and i mod 3 = 1}").str() ==
        "((n + 1) // 3) if n >= 2 else 0");
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

TEST_CASE("count_set: as a walk over the points has it, for random sets") {
  std::mt19937 random(20);
  int hard = 0, points = 0;
  for (int i = 0; i < 120; ++i) {
    const RandomSet set(random);
    const std::string text = set.text();
    CAPTURE(text);
    std::optional<Count> c;
    try {
      c = counted(text);
    } catch (const Error& e) {
      CHECK(e.diagnostic().code == "count-too-hard");
      ++hard;
      continue;
    }
    for (std::int64_t n = -4; n <= 9; n += 3)
      for (std::int64_t m = -2; m <= 8; m += 2) {
        const std::int64_t expected = set.points(n, m);
        points += expected > 0;
        INFO(c->str() << " at n = " << n << ", m = " << m);
        CHECK(c->number_at({{"n", n}, {"m", m}}) == expected);
      }
  }
  CHECK(hard == 0);
  CHECK(points > 800);  // the sets are not all empty
}

TEST_CASE("count_set: numbers beyond 64 bits are exact") {
  const Count c = counted("[n] -> {[i, j, k]: 0 <= i, j, k < n}");
  CHECK(yes(isl_val_eq(c.eval({{"n", 1 << 30}}).get(),
                       Val(isl_val_2exp(isl_val_int_from_si(isl(), 90))).get())));
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
