#include "reports/summary.h"

#include "core/order/reference.h"
#include "reports/draw_counterexample.h"
#include "tests/scripts/harness.h"

namespace moonloop::test {
namespace {

/// The drawing for the refusal of `lua`.
std::string drawing(const std::string& kernel, const std::string& lua) {
  try {
    transform_all(kernel, lua);
  } catch (const RefusedByCounterexample& e) {
    return draw_counterexample(*e.counterexample(), false);
  }
  FAIL("no refusal with instances from: " << lua);
  return {};
}

}  // namespace

TEST_CASE("summary: a kernel in a few lines") {
  const Kernel k = transform(kDouble, "twice = twice:split_iname('i', 16, {inner_tag = 'simd'})");
  CHECK(summary(k) ==
        "kernel twice(n: int32, a: float64[n], b: float64[n])\n"
        "  loops i_outer, i_inner: simd\n"
        "  b[i_inner + 16*i_outer] = 2*a[i_inner + 16*i_outer]  {id=double, tags=first}\n"
        "  1 transform, 0 claims\n");
}

TEST_CASE("summary: tables by what is in them") {
  CHECK(summary(Value{ValueList{Value{"a"}, Value{std::int64_t{2}}}}) == "{\"a\", 2}");
  ValueList many(50, Value{std::string(30, 'x')});
  const std::string text = summary(Value{many});
  CHECK(text.starts_with("{\n  \"xxx"));
  CHECK(text.ends_with("  -- and 10 more\n}"));
}

TEST_CASE("summary: what a step changed") {
  const auto changed = [](const std::string& kernel, const std::string& lua) {
    return what_changed(parse(kernel).front(), transform(kernel, lua));
  };
  CHECK(changed(kDouble, "twice = twice:split_iname('i', 16)") ==
        "split_iname(\"i\", 16); i -> i_outer, i_inner; legal");
  CHECK(changed(kDouble, "twice = twice:tag_inames{i = 'par'}") ==
        "tag_inames({i = \"par\"}); i: par; legal");
  CHECK(changed(kDouble,
                "twice = twice:split_iname('i', 16):add_prefetch('a', 'i_inner', {default_tag = "
                "'for'})") ==
        "split_iname(\"i\", 16), add_prefetch(\"a\", \"i_inner\", {default_tag = \"for\"}); "
        "i -> i_outer, i_inner, a_dim_0; new statement a_fetch_rule; new temporary a_fetch; legal");
  const std::string claim =
      changed(kRecurrence, "recur = recur:tag_inames({i = 'par'}, {unsafe = true})");
  CHECK(claim.find("claimed, not proved: ") != std::string::npos);
  CHECK(claim.find("legal") == std::string::npos);
}

TEST_CASE("diff: as diff -u shows it") {
  CHECK(diff("a\nb\n", "a\nb\n", "x", "y", false).empty());
  CHECK(diff("a\nb\nc\n", "a\nB\nc\n", "x", "y", false) ==
        "--- x\n+++ y\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  CHECK(diff("", "a\n", "x", "y", false) == "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  CHECK(diff("a\n", "", "x", "y", true) ==
        "\033[1m--- x\033[0m\n\033[1m+++ y\033[0m\n\033[36m@@ -1,1 +0,0 "
        "@@\033[0m\n\033[31m-a\033[0m\n");
  std::string before, after;
  for (int i = 1; i <= 30; ++i) {
    before += fmt::format("{}\n", i);
    after += i == 5 || i == 25 ? fmt::format("x{}\n", i) : fmt::format("{}\n", i);
  }
  CHECK(diff(before, after, "x", "y", false) ==
        "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x5\n 6\n 7\n 8\n"
        "@@ -22,7 +22,7 @@\n 22\n 23\n 24\n-25\n+x25\n 26\n 27\n 28\n");
}

TEST_CASE("counterexample: one loop") {
  CHECK(drawing(kRecurrence, "recur = recur:tag_inames{i = 'par'}") ==
        "  step at n = 3\n"
        "    i  1  2\n"
        "       A  B\n"
        "  A  step[i=1] writes a[1]\n"
        "  B  step[i=2] reads a[1]\n"
        "  A has to run before B\n");
}

TEST_CASE("counterexample: two loops, and a triangle") {
  const std::string skewed = R"(
kernel skew(n: int32, a: float64[n + 1, n + 1])
domain {[i, j]: 1 <= i < n and 1 <= j <= i}
assume n = 5
a[i, j] = a[i-1, j-1] + 1   {id=step}
)";
  CHECK(drawing(skewed, "skew = skew:tag_inames{i = 'par'}") ==
        "  step at n = 5\n"
        "      j  1  2  3  4\n"
        "    i 1  A\n"
        "    i 2  .  B\n"
        "    i 3  .  .  .\n"
        "    i 4  .  .  .  .\n"
        "  A  step[i=1, j=1] writes a[1, 1]\n"
        "  B  step[i=2, j=2] reads a[1, 1]\n"
        "  A has to run before B\n");
}

TEST_CASE("counterexample: instances too far apart for a picture, and staged values") {
  const std::string far = R"(
kernel far(n: int32, a: float64[n])
domain {[i]: 20 <= i < n}
a[i] = a[i-20] + 1   {id=step}
)";
  CHECK(drawing(far, "far = far:tag_inames{i = 'par'}") ==
        "  A  step[i=20] writes a[20]\n"
        "  B  step[i=40] reads a[20]\n"
        "  A has to run before B\n");
  const std::string shift = R"(
kernel shift(n: int32, u: float64[n + 1])
domain {[i]: 0 <= i < n}
assume n >= 16 and n mod 16 = 0
u[i + 1] = 0.5*u[i]   {id=step}
)";
  CHECK(drawing(shift,
                "shift = shift:split_iname('i', 16):add_prefetch('u', 'i_inner', {default_tag = "
                "'for'})") ==
        "  A  step[i_outer=0, i_inner=0] writes u[1]\n"
        "  B  u_fetch_rule[i_outer=0, u_dim_0=1] reads u[1]\n"
        "  A has to run before B\n");
}

TEST_CASE("counterexample: a value that stays in another work-item's copy") {
  const std::string own = R"(
kernel own(n: int32, a: float64[n, 4], c: float64[n, 4])
domain {[i, j]: 0 <= i < n and 0 <= j < 4}
<float64> t = a[i, j]  {id=z, inames=i:j, if=j == 0}
c[i, j] = t            {id=out}
)";
  CHECK(drawing(own, "own = own:tag_inames{j = 'l.0'}")
            .ends_with("  A  z[i=0, j=0] writes t\n"
                       "  B  out[i=0, j=1] reads t\n"
                       "  what A writes to its own copy does not reach B\n"));
}

TEST_CASE("counterexample: a slice of three loops, colours, and statements with other loops") {
  const std::string three = R"(
kernel three(n: int32, a: float64[n, n, n])
domain {[i, j, k]: 0 <= i, j < n and 1 <= k < n}
assume n = 3
a[i, j, k] = a[i, j, k-1] + 1   {id=step}
)";
  const std::string text = drawing(three, "three = three:tag_inames{k = 'par'}");
  CHECK(text.find("step at i = 0") == std::string::npos);
  CHECK(text.find(", i = 0\n") != std::string::npos);
  CHECK(text.find("A  B") != std::string::npos);

  const std::string two = R"(
kernel two(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
<float64> t = 0     {id=init}
t = t + a[i]        {id=sum, dep=init}
b[j] = t            {id=use, dep=sum}
)";
  std::string other;
  try {
    transform_all(two, "two = two:tag_inames{i = 'par'}");
  } catch (const RefusedByCounterexample& e) {
    other = draw_counterexample(*e.counterexample(), true);
  }
  CHECK(other.find("\033[1;31mA\033[0m  ") != std::string::npos);
}

}  // namespace moonloop::test
