// Rules whose value hides a reduction with bounds that depend on a loop around its use.
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

const char* const kTriangle = R"(
kernel triangle(n: int32, m: int32, a: float64[n], b: float64[n, m])
domain {[i, k]: 0 <= i < n and 0 <= k < m}
domain {[j]: 0 <= j <= i}
f(q) := sum(j, a[j]*q)
b[i, k] = f(k) {id=use}
)";
const char* const kBeside = R"(
kernel beside(n: int32, a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j <= i}
f(q) := sum(j, a[j]*q)
b[i] = f(i)
)";
const char* const kStaged = R"(
kernel staged(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
domain {[k]: 0 <= k < n}
<> t = sum(j, a[j])
b[i] = 2*t
temp s: float64[n]
s[i] = sum(j, a[j])
c[k] = s[k]
)";

}  // namespace

TEST_CASE("precompute: a reduction whose bounds a swept loop sets is refused") {
  CHECK(code_of([] {
          apply(parsed(kBeside), "precompute", {text("f"), text("i")});
        }) == "swept-bound");
  CHECK(message([] {
          apply(parsed(kBeside), "precompute", {text("f"), text("i")});
        }) ==
        "a reduction in `f` has bounds that depend on the swept iname `i`: each value of it "
        "has other terms");
}

TEST_CASE("precompute: such a reduction stays inside of the loop that sets its bounds") {
  const Kernel k = apply(parsed(kTriangle), "precompute", {text("f"), text("k")},
                         {{"default_tag", Value{false}}});
  CHECK(same_values(parsed(kTriangle), k, {{"n", 7}, {"m", 3}}));
}

TEST_CASE("assignment_to_subst: a reduction has the bounds of the loop where it stood") {
  const Kernel k = apply(parsed(kStaged), "assignment_to_subst", {text("t")});
  CHECK(same_values(parsed(kStaged), k, {{"n", 7}}));
  CHECK(code_of([] { apply(parsed(kStaged), "assignment_to_subst", {text("s")}); }) ==
        "other-bounds");
}
