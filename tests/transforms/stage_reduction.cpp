#include "transforms/stage_reduction.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

/// The sum of squares that another statement in the same loops computes.
const char* const kTotal =
    "kernel total(n: int32, m: int32, a: float64[n, m], x: inout float64[1])\n"
    "domain {[k]: 0 <= k < n}\ndomain {[j]: 0 <= j < m}\ntemp part: float64\n"
    "for k\n  for j\n    part = a[k, j]*a[k, j]   {id=square}\n  end\nend\n"
    "x[0] = x[0] + sum((k, j), part)   {id=add}\n";

}  // namespace

TEST_CASE("stage_reduction: a value for each iteration, and one of all") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n], c: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j, k]: 0 <= j < n and 0 <= k < n}\nc[i] = 2*sum((j, k), a[j, k]*i) {id=w}\n");
  const Kernel staged = stage_reduction(k, {"k"});
  CHECK(line(staged, "w_part") == "part_k[k] = sum(j, a[j, k]*i)");
  CHECK(line(staged, "w") == "c[i] = 2*sum(k_0, part_k[k_0])");
  CHECK(staged.reference == nullptr);
  CHECK(same_values(k, staged, {{"n", 5}}));
  CHECK(line(stage_reduction(k, {"j"}, {}, "rows"), "w_part") == "rows[j] = sum(k, a[j, k]*i)");
}

TEST_CASE("stage_reduction: terms of other statements in the loops, in groups of work-items") {
  const Kernel k = parsed(kTotal);
  Kernel s = apply(k, "split_iname", {text("k"), number(4)});
  s = apply(s, "split_iname", {text("j"), number(8)});
  s = stage_reduction(s, {"k_outer", "j_outer"});
  CHECK(line(s, "add_part") ==
        "part_k_outer_j_outer[k_outer, j_outer] = sum((k_inner, j_inner), part)");
  s = apply(s, "tag_inames", {text("k_outer:g.1, j_outer:g.0, j_inner:l.0")});
  for (const auto& [n, m] : {std::pair{0, 3}, {5, 0}, {3, 8}, {9, 17}})
    CHECK(same_values(k, s, {{"n", n}, {"m", m}}));
}

TEST_CASE("stage_reduction: bounds that begin elsewhere, conditions, two values, loops around") {
  const Kernel k = parsed(
      "kernel f(n: int32, t: int32, a: float64[n + 4, n + 4], c: float64[t], p: int32[t], q: "
      "float64[t])\n"
      "domain {[i]: 0 <= i < t}\ndomain {[j]: 3 <= j < n + 3}\ndomain {[l]: 1 <= l <= j}\n"
      "c[i] = min((j, l), a[j, l] + i)   {id=w, if=i > 0}\n"
      "q[i], p[i] = argmax((j, l), a[j, l]*i, 10*j + l)   {id=both}\n");
  const Kernel one = stage_reduction(k, {"j"}, Match::parse("id:w"));
  CHECK(line(one, "w_part") == "part_j[j - 3] = reduce(min, l, a[j, l] + i)");
  CHECK(one.find_insn("w_part")->predicates.size() == 1);
  const Kernel all = stage_reduction(k, {"j"});
  CHECK(line(all, "both") == "q[i], p[i] = argmax(j_1, part_j_0[j_1 - 3], part_j_1[j_1 - 3])");
  for (const Kernel* staged : {&one, &all})
    for (const int n : {1, 4}) CHECK(same_values(k, *staged, {{"n", n}, {"t", 3}}));
}

TEST_CASE("stage_reduction: what it refuses") {
  const Kernel k = parsed(kTotal);
  CHECK(code_of([&] { stage_reduction(k, {"z"}); }) == "unknown-iname");
  CHECK(code_of([&] { stage_reduction(k, {}); }) == "no-inames");
  CHECK(code_of([&] { stage_reduction(k, {"k", "k"}); }) == "twice");
  CHECK(code_of([&] { stage_reduction(k, {"k"}, Match::parse("id:none")); }) == "no-match");
  CHECK(message([&] {
          stage_reduction(k, {"k", "j"});
        }) ==
        "no reduction is over `k`, `j` and another iname; split_iname(\"j\", 128) makes two of "
        "it, of which `j_outer` has an element for each block");
  const Kernel split = apply(k, "split_iname", {text("j"), number(128)});
  CHECK(stage_reduction(split, {"k", "j_outer"}).find_insn("add_part") != nullptr);
  CHECK(code_of([&] { stage_reduction(k, {"k"}, Match::parse("id:square")); }) == "no-reduction");
  const Kernel computed = parsed(
      "kernel f(n: int32, size: int32[1], a: float64[n, n], c: float64[1])\n"
      "domain {[j]: 0 <= j < rows}\ndomain {[l]: 0 <= l < n}\n"
      "<int32> rows = size[0]   {id=set}\nc[0] = sum((j, l), a[j, l])   {dep=set}\n");
  CHECK(message([&] { stage_reduction(computed, {"j"}); }) ==
        "the number of values of iname `j` is computed in the kernel");
  const Kernel changes = parsed(
      "kernel f(n: int32, a: float64[n, n], flag: inout int32[n], c: inout float64[1])\n"
      "domain {[j, l]: 0 <= j < n and 0 <= l < n}\n"
      "flag[j] = 1   {id=set}\n"
      "c[0] = sum((j, l), a[j, l]) if flag[0] > 0 else 0   {id=w}\n");
  CHECK(message([&] { stage_reduction(changes, {"j"}); }) ==
        "`set` writes `flag`, which decides whether the reduction of `w` runs");
  CHECK(code_of([&] { stage_reduction(changes, {"j"}); }) == "condition-changes");
  const Kernel segments = parsed(
      "kernel f(n: int32, a: float64[n, n], s: int32[n, n], c: float64[1], d: int32[1])\n"
      "domain {[j, l]: 0 <= j < n and 0 <= l < n}\n"
      "c[0], d[0] = reduce(segmented(sum), (j, l), a[j, l], s[j, l])\n");
  CHECK(code_of([&] { stage_reduction(segments, {"j"}); }) == "unsupported");
}
