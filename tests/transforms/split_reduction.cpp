#include "transforms/split_reduction.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {
Kernel total(const std::string& statement) {
  return parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j, k, l]: 0 <= j < n and 0 <= k < n and 0 <= l < 4}\n" +
      statement);
}
}  // namespace

TEST_CASE("split_reduction: inward and outward") {
  const Kernel k = total("c[i] = 2*sum((j, k, l), a[i, j, k, l]) {id=w}\n");
  CHECK(line(split_reduction_inward(k, {"k"}), "w") ==
        "c[i] = 2*sum((j, l), sum(k, a[i, j, k, l]))");
  CHECK(line(split_reduction_outward(k, {"k"}), "w") ==
        "c[i] = 2*sum(k, sum((j, l), a[i, j, k, l]))");
  CHECK(line(split_reduction_inward(k, {"l", "j"}), "w") ==
        "c[i] = 2*sum(k, sum((j, l), a[i, j, k, l]))");
  CHECK(split_reduction_inward(k, {"k"}).reference == nullptr);
}

TEST_CASE("split_reduction: within, and rules") {
  const Kernel k =
      total("g(x) := sum((j, k), a[x, j, k, 0])\nb[i] = g(i) {id=x}\nc[i] = 1 + g(i) {id=y}\n");
  const Kernel all = split_reduction_outward(k, {"j"});
  CHECK(to_string(all.rules[0].body) == "sum(j, sum(k, a[x, j, k, 0]))");
  const Kernel one = split_reduction_outward(k, {"j"}, Match::parse("id:y"));
  CHECK(line(one, "x") == "b[i] = g(i)");
  CHECK(line(one, "y") == "c[i] = 1 + sum(j, sum(k, a[i, j, k, 0]))");
}

TEST_CASE("split_reduction: what it refuses") {
  const Kernel k = total("c[i] = sum((j, k), a[i, j, k, 0]) {id=w}\n");
  CHECK(message([&] { split_reduction_inward(k, {"z"}); }) ==
        "no iname `z` in kernel `f`; it has `i`, `j`, `k`, `l`");
  CHECK(message([&] { split_reduction_inward(k, {}); }) ==
        "no iname is given to split reductions by");
  CHECK(message([&] {
          split_reduction_inward(k, {"j", "j"});
        }) == "`j` occurs twice in the list of inames");
  CHECK(message([&] {
          split_reduction_inward(k, {"j", "k"});
        }) == "no reduction is over `j`, `k` and another iname");
  CHECK(message([&] { split_reduction_outward(k, {"l"}); }) ==
        "no reduction is over `l` and another iname");
  CHECK(code_of([&] { split_reduction_outward(k, {"j"}, Match::parse("id:z")); }) == "no-match");
  const Kernel two = total("m[i], p[i] = argmax((j, k), a[i, j, k, 0], j) {id=w}\n");
  CHECK(code_of([&] { split_reduction_outward(two, {"j"}); }) == "two-valued");
}

TEST_CASE("reduction_arg_to_subst_rule: one rule for each body") {
  const Kernel k = total(
      "c[i] = sum((j, k), a[i, j, k, 0]) + max((k, j), a[i, j, k, 0]) + sum((j, k), i*j) {id=w}\n"
      "m[i], p[i] = argmax((j, k), a[i, j, k, 0], j) {id=x}\n");
  const Kernel made = apply(k, "reduction_arg_to_subst_rule", {text("j, k")});
  CHECK(line(made, "w") ==
        "c[i] = sum((j, k), red_j_k_arg(j, k)) + max((k, j), red_j_k_arg(j, k)) + "
        "sum((j, k), red_j_k_arg_0(j, k))");
  CHECK(line(made, "x") == "m[i], p[i] = argmax((j, k), red_j_k_arg(j, k), j)");
  CHECK(made.rules.size() == 2);
  const Kernel named = apply(k, "reduction_arg_to_subst_rule", {text("j, k"), text("id:x")},
                             {{"subst_rule_name", text("v")}});
  CHECK(line(named, "w") == line(k, "w"));
  CHECK(to_string(named.rules.back().body) == "a[i, j, k, 0]");
  CHECK(message([&] { apply(k, "reduction_arg_to_subst_rule", {text("j")}); }) ==
        "no selected instruction has a reduction over just `j`");
}

TEST_CASE("split_reduction: other statements of its loops keep their order") {
  // Differential test, seed 1306040: `z_inner` came to be around `z_outer` for all of them.
  const auto split = [](const std::string& others) {
    const Kernel k = parsed(
        "kernel f(n: int32, r: float32[n + 12], s: float32[n + 12], b: float32[n])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[z]: 0 <= z < n}\n"
        "b[i] = reduce(max, z, r[i + 2])  {id=most, inames=i}\n" +
        others);
    const Kernel parts = apply(k, "split_iname", {text("z"), number(3)});
    CHECK(same_values(k, split_reduction_outward(parts, {"z_outer"}), {{"n", 7}}));
    return split_reduction_inward(parts, {"z_outer"});
  };
  CHECK(code_of([&] { split("s[i + 1] = r[z + 1]  {id=last, inames=i:z}\n"); }) == "breaks-order");
  CHECK(code_of([&] { split("s[z + 1] = r[z + 1]  {id=each, inames=i:z}\n"); }) == "legal");
}
