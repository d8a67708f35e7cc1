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

TEST_CASE("precompute: a reduction whose bounds a swept loop sets has loops of its own") {
  const Kernel k = apply(parsed(kBeside), "precompute", {text("f"), text("i")});
  CHECK(line(k, "f") == "f_0[q] = sum(j_0, a[j_0]*q)");
  CHECK(same_values(parsed(kBeside), k, {{"n", 7}}));
}

TEST_CASE("precompute: the swept loop is an axis where no argument tells its value") {
  const std::string text_of = R"(
kernel apart(n: int32, a: float64[n], b: float64[n])
domain {[i]: 2 <= i < n}
domain {[j]: 0 <= j < i and exists(e: j = 2*e + i)}
domain {[k]: j <= k < i + 1}
f(q) := max(j, sum(k, a[j] + k)*q)
b[i] = f(2*i + 1)
)";
  const Kernel k =
      apply(parsed(text_of), "precompute", {text("f"), text("i")}, {{"default_tag", Value{false}}});
  CHECK(k.find_temporary("f_0")->shape->size() == 2);
  CHECK(same_values(parsed(text_of), k, {{"n", 9}}));
  CHECK(
      message([&] {
        apply(parsed(text_of), "precompute", {text("f"), text("i")}, {{"storage_axes", text("q")}});
      }) ==
      "a reduction in `f` has bounds that depend on the swept iname `i`; name `i` among the "
      "storage axes");
}

TEST_CASE("precompute: a reduction in two stages, whose last part is shorter") {
  const std::string text_of = R"(
kernel total(n: int32, a: float64[n], s: float64[1])
domain {[i]: 0 <= i < n}
s[0] = 2*sum(i, a[i])
)";
  Kernel k = apply(parsed(text_of), "split_iname", {text("i"), number(4)});
  k = apply(k, "split_reduction_outward", {text("i_outer")});
  const Kernel rule = apply(k, "reduction_arg_to_subst_rule", {text("i_outer")});
  CHECK(line(rule, "insn") == "s[0] = 2*sum(i_outer, red_i_outer_arg(i_outer))");
  CHECK(to_string(rule.rules[0].body) == "sum(i_inner, a[i_inner + 4*i_outer])");
  k = apply(rule, "precompute", {text("red_i_outer_arg"), text("i_outer")});
  for (const std::int64_t n : {1, 3, 4, 9}) CHECK(same_values(parsed(text_of), k, {{"n", n}}));
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
