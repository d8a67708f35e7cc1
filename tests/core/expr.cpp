#include "core/expr/expr.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/diagnostic.h"
#include "core/expr/parse_expr.h"

using namespace moonloop;

namespace {

Expr e(const std::string& text) { return parse_expression(text); }
std::string index_of(const std::string& text) { return to_string(index_add({e(text)})); }

}  // namespace

TEST_CASE("index builders fold and flatten") {
  CHECK(index_of("0 + 1*i") == "i");
  CHECK(index_of("i + (j + 3) - 1") == "i + j + 2");
  CHECK(index_of("2*(i + 4) - i") == "i + 8");
  CHECK(index_of("i - i") == "0");
  CHECK(index_of("-i + n") == "n - i");
  CHECK(index_of("3*(2*i)") == "6*i");
  CHECK(to_string(index_sub(e("n"), lit(1))) == "n - 1");
  CHECK(to_string(index_mul(lit(0), e("a[i]"))) == "0");
  CHECK(to_string(index_mul(e("i"), e("j"))) == "i*j");
  CHECK(to_string(index_add({})) == "0");
  CHECK_THROWS_WITH_AS(index_mul(lit(std::numeric_limits<std::int64_t>::max()), lit(2)),
                       "a constant in an index expression exceeds 64 bits", Error);
}

TEST_CASE("conjunction and negation") {
  CHECK(to_string(conjunction({})) == "True");
  CHECK(to_string(conjunction({e("a"), e("b and c"), e("True")})) == "a and b and c");
  CHECK(to_string(conjunction({e("a"), e("False")})) == "False");
  CHECK(to_string(negation(e("i == j"))) == "i != j");
  // `x < y` and `x >= y` are both false for NaN.
  CHECK(to_string(negation(e("x < y"))) == "not x < y");
  CHECK(to_string(negation(negation(e("x < y")))) == "x < y");
}

TEST_CASE("rewriting shares what does not change") {
  const Expr sum = e("a[i] + b[i]*c");
  CHECK(rewrite(sum, [](const Expr& x) { return x; }).same_as(sum));
  CHECK(substitute(sum, {{"z", lit(1)}}).same_as(sum));
  CHECK(to_string(substitute(sum, {{"i", e("i + 1")}, {"c", lit(2)}})) == "a[i + 1] + b[i + 1]*2");
  CHECK(to_string(substitute(e("sum(k, a[k])"), {{"k", var("l")}})) == "sum(l, a[l])");
  CHECK_THROWS_AS(substitute(e("sum(k, a[k])"), {{"k", lit(0)}}), InternalError);
  CHECK(to_string(rename(e("sum(k, a[k] + k)"), {{"a", "b"}, {"k", "l"}})) == "sum(l, b[l] + l)");
  // Sums are read from the left, so only the first term's own terms join.
  CHECK(to_string(substitute(e("x + y"), {{"x", e("p + q")}, {"y", e("r + s")}})) ==
        "p + q + (r + s)");
}

TEST_CASE("names in expressions") {
  std::set<std::string> vars, reads;
  collect_vars(e("a[i + n] + sum(k, b[k]) + x"), vars);
  CHECK(vars == std::set<std::string>{"i", "k", "n", "x"});
  collect_reads(e("a[i] + sum(k, b[k])"), reads);
  CHECK(reads == std::set<std::string>{"a", "b", "i", "k"});
  CHECK(reduction_inames(e("sum(i, product(j, a[i, j]))*sum(i, b[i])")) ==
        std::vector<std::string>{"i", "j"});
  CHECK(contains_reduction(e("1 + sum(i, 2)")));
  CHECK_FALSE(contains_reduction(e("1 + f(i)")));
}

TEST_CASE("equality is of structure; tags count, places do not") {
  CHECK(equal(e("a[i]  + 1"), e("a[ i ]+1")));
  CHECK_FALSE(equal(e("a$x[i]"), e("a[i]")));
  CHECK_FALSE(equal(e("a + b"), e("b + a")));
  CHECK_FALSE(equal(e("1"), e("1.0")));
  CHECK(equal(e("-5"), lit(-5)));
  CHECK(hash(e("-5")) == hash(lit(-5)));
  CHECK(hash(e("f(i, j)")) == hash(e("f(i,  j)")));
  CHECK(as_int(e("-5")) == -5);
  CHECK_FALSE(as_int(e("i")));
}

TEST_CASE("long sums are shallow") {
  std::string text = "x0";
  for (int i = 1; i < 20000; ++i) text += " + x" + std::to_string(i);
  const Expr sum = e(text);
  REQUIRE(sum.as<Nary>());
  CHECK(sum.as<Nary>()->terms.size() == 20000);
  CHECK(equal(e(to_string(sum)), sum));
}

TEST_CASE("printing: no redundant parentheses, and it parses back") {
  for (const std::string text : {"a[i] + b[j]*2",
                                 "(a + b)*c",
                                 "a - (b - c)",
                                 "a - b - c",
                                 "-(a + b)",
                                 "(-a)**2",
                                 "-a**2",
                                 "a**b**c",
                                 "(a**b)**c",
                                 "a // b % c",
                                 "a // (b*c)",
                                 "x if a < b else y",
                                 "not (a and b)",
                                 "a and (b or c)",
                                 "sum((i, j), a[i, j])",
                                 "argmax(i, a[i], i)",
                                 "f(g(x), 2.5)",
                                 "a[i].x",
                                 "2.5f",
                                 "1.0e300",
                                 "a[[i + 1]]",
                                 "(1 if p else 2) + 3",
                                 "a << 2 | b & 3 ^ c",
                                 "~a",
                                 "h$two(i)",
                                 "a$t[i]",
                                 "reduce(sum, [i], a[i])",
                                 "cast(int64, i)",
                                 "(a < b) == c",
                                 "5.0j"}) {
    CAPTURE(text);
    Expr parsed;
    try {
      parsed = e(text);
    } catch (const Error& err) {
      const std::string what = err.what();
      FAIL_CHECK(what);
      continue;
    }
    const std::string shown = to_string(parsed);
    CAPTURE(shown);
    CHECK(equal(e(shown), parsed));
    CHECK(to_string(e(shown)) == shown);
  }
  CHECK(to_string(e("((a)) + (b*c)")) == "a + b*c");
  CHECK(to_string(e("(a*b) + (c)")) == "a*b + c");
}
