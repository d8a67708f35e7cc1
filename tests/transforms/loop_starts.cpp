#include "loop_kit.h"
#include "same_values.h"
#include "transforms/start_at_zero.h"
#include "transforms/tight_bounds.h"

using namespace moonloop;

namespace {
Kernel blocks(const std::string& bounds, const std::string& condition = "") {
  return parsed(
      "kernel f(n: int32, a: float64[n])\ndomain {[b]: 0 <= 4*b < n}\ndomain {[i]: " + bounds +
      "}\na[i] = a[i] + b {id=s" + (condition.empty() ? "" : ", if=" + condition) + "}\n");
}
/// Bounds of the loop in the text of `k`.
bool has_domain(const Kernel& k, const std::string& iname, const std::string& set) {
  return same_set(k.home_of(iname)->set, set);
}
}  // namespace

TEST_CASE("start_at_zero: blocks, and what a loop inside is bounded by") {
  const Kernel k = blocks("4*b <= i < 4*b + 4 and i < n");
  const Kernel from = start_at_zero(k, "i", "lane");
  CHECK(line(from, "s") == "a[lane + 4*b] = a[lane + 4*b] + b");
  CHECK(conserves(k, from));
  CHECK(same_values(k, from, {{"n", 11}}));
  CHECK(start_at_zero(k, "i").has_iname("i_from_0"));

  const Kernel triangle = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i]: 1 <= i < n}\n"
      "domain {[j]: i + 2 <= j < n}\na[i, j] = i + n*j {id=s}\n");
  const Kernel both = start_at_zero(start_at_zero(triangle, "j", "q"), "i", "p");
  CHECK(line(both, "s") == "a[p + 1, q + p + 3] = p + 1 + n*(q + (p + 1) + 2)");
  CHECK(same_values(triangle, both, {{"n", 9}}));
}

TEST_CASE("start_at_zero: the first value counts what statements' conditions leave") {
  const Kernel k = blocks("0 <= i < n", "i >= 2*b + 1");
  CHECK(line(start_at_zero(k, "i", "p"), "s") == "a[p + 2*b + 1] = a[p + 2*b + 1] + b");
}

TEST_CASE("start_at_zero: a loop that starts there, none that is affine, none at all") {
  const auto code = [](const Kernel& k) { return code_of([&] { start_at_zero(k, "i"); }); };
  CHECK(code(blocks("0 <= i < n")) == "starts-at-zero");
  CHECK(code(blocks("3 <= i < n and 2*b <= i")) == "no-first");  // the larger one
  CHECK(code(blocks("b <= i < n and i < b")) == "no-first");
  CHECK(code_of([] { start_at_zero(blocks("1 <= i < n"), "x"); }) == "unknown-iname");
  const Kernel tagged = apply(blocks("1 <= i < n"), "tag_inames", {text("i:par")});
  CHECK(message([&] {
          start_at_zero(tagged, "i");
        }).find("`i` is tagged `par`; let it start at zero first, then tag it") !=
        std::string::npos);
  CHECK(code_of([] { start_at_zero(blocks("1 <= i < n"), "i", "b"); }) == "name-taken");
}

TEST_CASE("tight_bounds: loops inside bound the loop around them") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], x: float64[n])\ndomain {[b]: 0 <= 4*b < n}\n"
      "domain {[i]: 0 <= i < n}\ndomain {[k]: 4*b <= k < i and k < 4*b + 4}\n"
      "a[i] = a[i] + x[k] {id=s}\n");
  const Kernel tight = tight_bounds(k, "i");
  CHECK(has_domain(tight, "i", "[n, b] -> {[i]: i > 4*b and 0 <= i < n}"));
  CHECK(line(tight, "s") == line(k, "s"));
  CHECK(same_values(k, tight, {{"n", 11}}));
  // What the loop has of its own before is not idle.
  const Kernel two = parsed(
      "kernel f(n: int32, a: float64[n], x: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 8 <= k < i}\na[i] = 1\na[i] = a[i] + x[k]\n");
  CHECK(code_of([&] { tight_bounds(two, "i"); }) == "no-idle");
}

TEST_CASE("tight_bounds: the loop of work-items of one of several statements") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: inout float64[n, 8], b: inout float64[n, 8])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j, m]: 0 <= j, m < 8}\ntag i: g.0\ntag j: l.0\ntag m: "
      "l.0\n"
      "for i\n  a[i, j] = 2*a[i, j]\n  b[i, m] = 2*b[i, m] {id=s, if=m < 5}\nend\n");
  const Kernel tight = tight_bounds(k, "m");
  CHECK(has_domain(tight, "m", "{ [m] : 0 <= m <= 4 }"));
  for (const Domain& d : tight.domains) CHECK_FALSE(d.inames().empty());
  CHECK(same_values(k, tight, {{"n", 3}}));
}

TEST_CASE("tight_bounds: conditions that all statements have; gaps stay; nothing to leave out") {
  const Kernel k = blocks("0 <= i < n", "i >= 2*b and i % 2 == 0");
  const Kernel tight = tight_bounds(k, "i");
  CHECK(has_domain(tight, "i", "[n, b] -> {[i]: i >= 2*b and 0 <= i < n}"));
  CHECK(same_values(k, tight, {{"n", 11}}));
  CHECK(message([] {
          tight_bounds(blocks("0 <= i < n"), "i");
        }).find("no bounds of `i` leave out iterations in which nothing runs") !=
        std::string::npos);
  CHECK(code_of([] { tight_bounds(blocks("0 <= i < n"), "x"); }) == "unknown-iname");
}
