#include "transforms/interchange.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

TEST_CASE("interchange: two loops change places, loops between them stay") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n, n])\ndomain {[i, k, j]: 0 <= i, j, k < n}\n"
      "a[i, j, k] = i + 2*j + 3*k {id=s}\n");
  CHECK(tree(k) == "for i\n  for k\n    for j\n      s\n");
  const Kernel once = interchange(k, "i", "j");
  CHECK(tree(once) == "for j\n  for k\n    for i\n      s\n");
  CHECK(conserves(k, once));
  CHECK(same_values(k, once, {{"n", 3}}));
  CHECK(tree(interchange(once, "i", "j")) == tree(k));  // in either order of the names
  CHECK(tree(interchange(once, "k", "i")) == "for j\n  for i\n    for k\n      s\n");
}

TEST_CASE("interchange: triangles, strides, bands of another domain, and an older priority") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i]: 0 <= i < n and i mod 2 = 0}\n"
      "domain {[j]: i <= j < n}\na[i, j] = a[i, j] + i*j {id=s}\n");
  const Kernel turned = interchange(k, "i", "j");
  CHECK(tree(turned) == "for j\n  for i\n    s\n");
  CHECK(same_values(k, turned, {{"n", 7}}));
  const Kernel fixed = apply(k, "prioritize_loops", {text("i, j")});
  CHECK(tree(interchange(fixed, "i", "j")) == "for j\n  for i\n    s\n");
}

TEST_CASE("interchange: a dependence that would run backwards, with two instances") {
  const auto verdict = [](const std::string& from) {
    const Kernel k = parsed(
        "kernel f(n: int32, a: float64[n, n])\ndomain {[i, j]: 1 <= i < n and 1 <= j < n - 1}\n"
        "a[i, j] = " +
        from + " {id=s}\n");
    return message([&] { interchange(k, "i", "j"); });
  };
  CHECK(verdict("a[i - 1, j - 1]") == "legal");
  CHECK(verdict("a[i - 1, j + 1]") ==
        "s[j=1, i=2] would run before s[j=2, i=1], but s[j=2, i=1] writes a[1, 2] and s[j=1, i=2] "
        "reads it (n=4)");
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i, j]: 1 <= i < n and 1 <= j < n - 1}\n"
      "a[i, j] = a[i - 1, j + 1] {id=s}\n");
  CHECK(tree(apply(k, "interchange", {text("i"), text("j")}, {{"unsafe", flag(true)}})) ==
        "for j\n  for i\n    s\n");
}

TEST_CASE("interchange: what it refuses") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], p: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ndomain {[m]: 0 <= m < n}\n"
      "a[i] = 1 {id=one}\np[i, j] = 2 {id=two}\na[m] = 3 {id=three}\n");
  CHECK(message([&] { interchange(k, "i", "z"); }) ==
        "no iname `z` in kernel `f`; it has `i`, `j`, `m`");
  CHECK(message([&] { interchange(k, "i", "i"); }) == "`i` is to change places with itself");
  CHECK(message([&] { interchange(k, "i", "m"); }) == "no statement is in both loops, `i` and `m`");
  CHECK(code_of([&] { interchange(k, "i", "m"); }) == "not-nested");
  CHECK(code_of([&] { interchange(k, "i", "j"); }) == "cannot-nest");
  const Kernel apart = apply(k, "distribute_loops", {text("i"), text("id:one")});
  CHECK(tree(interchange(apart, "i_0", "j")) ==
        "for i\n  one\nfor j\n  for i_0\n    two\nfor m\n  three\n");
}
