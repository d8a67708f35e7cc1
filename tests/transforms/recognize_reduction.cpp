#include "transforms/recognize_reduction.h"

#include "loop_kit.h"
#include "transforms/prioritize_loops.h"

using namespace moonloop;

namespace {

/// `for i: init; for k: body; end; after; end`
Kernel rows(const std::string& init, const std::string& body, const std::string& after = "",
            const std::string& args = "") {
  return parsed("kernel f" + args +
                "\ndomain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < n}\nfor i\n  " + init +
                "\n  for k\n    " + body + "\n  end\n  " + after + "\nend\n");
}

}  // namespace

TEST_CASE("recognize_reduction: a neutral initial value goes") {
  const Kernel k =
      recognize_reduction(rows("c[i] = 0 {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}"), {"k"});
  REQUIRE(k.instructions.size() == 1);
  CHECK(line(k, "w") == "c[i] = sum(k, a[i, k])");
  CHECK(k.find_insn("w")->inames == std::set<std::string>{"i"});
  CHECK(k.find_insn("w")->depends_on.empty());
}

TEST_CASE("recognize_reduction: another initial value is added, none is kept as it is") {
  CHECK(line(recognize_reduction(rows("c[i] = b[i] {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}"),
                                 {"k"}),
             "w") == "c[i] = b[i] + sum(k, a[i, k])");
  CHECK(line(recognize_reduction(parsed("kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k < n}\n"
                                        "c[i] = c[i] + a[i, k] {id=w}\n"),
                                 {"k"}),
             "w") == "c[i] = c[i] + sum(k, a[i, k])");
}

TEST_CASE("recognize_reduction: every operation, in any position") {
  const auto of = [](const std::string& rhs) {
    return line(recognize_reduction(parsed("kernel f(a: float64[n, n], c: float64[n])\n"
                                           "domain {[i, k]: 0 <= i < n and 0 <= k < n}\nc[i] = " +
                                           rhs + " {id=w}\n"),
                                    {"k"}),
                "w");
  };
  CHECK(of("a[i, k] + c[i]") == "c[i] = c[i] + sum(k, a[i, k])");
  CHECK(of("c[i] + a[i, k] + 2") == "c[i] = c[i] + sum(k, a[i, k] + 2)");
  CHECK(of("c[i] - a[i, k]") == "c[i] = c[i] + sum(k, -a[i, k])");
  CHECK(of("c[i]*a[i, k]*2") == "c[i] = c[i]*product(k, a[i, k]*2)");
  CHECK(of("min(a[i, k], c[i])") == "c[i] = min(c[i], reduce(min, k, a[i, k]))");
  CHECK(of("max(c[i], a[i, k])") == "c[i] = max(c[i], reduce(max, k, a[i, k]))");
}

TEST_CASE("recognize_reduction: a scalar temporary in each outer iteration") {
  const Kernel k = recognize_reduction(
      rows("<> t = 0.0 {id=z}", "t = t + a[i, k] {id=w, dep=z}", "c[i] = 2*t {id=u, dep=w}"),
      {"k"});
  CHECK(k.instructions.size() == 2);
  CHECK(line(k, "w") == "t = sum(k, a[i, k])");
  CHECK(tree(k).find("for i") == 0);
}

TEST_CASE("recognize_reduction: over several loops, and the freedom it gives") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, k, l]: 0 <= i < n and 0 <= k < n and 0 <= l < n}\n"
      "c[i] = c[i] + a[i, k, l] {id=w}\n");
  CHECK(code_of([&] { prioritize_loops(before, {"l", "k"}); }) == "breaks-order");
  const Kernel k = recognize_reduction(before, {"k", "l"});
  CHECK(line(k, "w") == "c[i] = c[i] + sum((k, l), a[i, k, l])");
  CHECK(code_of([&] { prioritize_loops(k, {"l", "k"}); }) == "legal");
}

TEST_CASE("recognize_reduction: an addend of a smaller type is converted first") {
  CHECK(line(recognize_reduction(rows("", "c[i] = c[i] + a[i, k] {id=w}", "",
                                      "(n: int32, c: float64[n], a: float32[n, n])"),
                                 {"k"}),
             "w") == "c[i] = c[i] + sum(k, cast(float64, a[i, k]))");
}

TEST_CASE("recognize_reduction: a condition on the loop becomes one on the addend") {
  const Kernel k = recognize_reduction(rows("", "c[i] = c[i] + a[i, k] {id=w, if=k > i}"), {"k"});
  CHECK(line(k, "w") == "c[i] = c[i] + sum(k, a[i, k] if k > i else 0)");
  CHECK(k.find_insn("w")->predicates.empty());
  CHECK(message([] {
          recognize_reduction(rows("", "c[i] = min(c[i], a[i, k]) {id=w, if=k > i}"), {"k"});
        }) == "`w` takes a min under the condition `k > i`, which has no neutral value");
}

TEST_CASE("recognize_reduction: a triangular solve reads other elements of what it accumulates") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 0 <= j < i and i < n}\n"
      "x[i] = x[i] - L[i, j]*x[j] {id=w}\n");
  CHECK(line(recognize_reduction(k, {"j"}), "w") == "x[i] = x[i] + sum(j, -(L[i, j]*x[j]))");
  const Kernel up = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j <= i}\n"
      "x[i] = x[i] - L[i, j]*x[j] {id=w}\n");
  CHECK(code_of([&] { recognize_reduction(up, {"j"}); }) == "stale-value");
}

TEST_CASE("recognize_reduction: the accumulator may not be seen while the loop runs") {
  // A prefix sum: each partial sum is stored.
  CHECK(code_of([] {
          recognize_reduction(rows("<> t = 0.0 {id=z}",
                                   "t = t + a[i, k] {id=w, dep=z}\n    c[i, k] = t {id=u, dep=w}"),
                              {"k"}, Match::parse("id:w"));
        }) != "legal");
  // The same store of another value does not matter.
  CHECK(code_of([] {
          recognize_reduction(rows("<> t = 0.0 {id=z}",
                                   "t = t + a[i, k] {id=w, dep=z}\n    c[i, k] = a[i, k] {id=u}"),
                              {"k"}, Match::parse("id:w"));
        }) == "legal");
}

TEST_CASE("recognize_reduction: an initial value that something reads in between stays") {
  const Kernel k = recognize_reduction(
      parsed(
          "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < n}\nfor i\n  c[i] = 0 {id=z}\n"
          "  d[i] = c[i] {id=u, dep=z}\n  for k\n    c[i] = c[i] + a[i, k] {id=w, dep=u}\n  "
          "end\nend\n"),
      {"k"});
  CHECK(k.instructions.size() == 3);
  CHECK(line(k, "w") == "c[i] = c[i] + sum(k, a[i, k])");
}

TEST_CASE("recognize_reduction: what it refuses") {
  const Kernel k = rows("c[i] = 0 {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}");
  CHECK(message([&] { recognize_reduction(k, {"q"}); }) ==
        "no iname `q` in kernel `f`; it has `i`, `k`");
  CHECK(message([&] { recognize_reduction(k, {}); }) == "no iname is given to reduce over");
  CHECK(message([&] {
          recognize_reduction(k, {"k", "k"});
        }) == "`k` stands twice in the list of inames");
  CHECK(message([&] { recognize_reduction(k, {"k"}, Match::parse("id:z")); }) ==
        "no selected instruction stands in the loops over `k`");
  CHECK(message([&] {
          recognize_reduction(k, {"i", "k"});
        }) == "`w` writes another element in each iteration of `i`: `c[i]`");
  const Kernel other = rows("c[i] = 0 {id=z}", "c[i] = 2*c[i] + a[i, k] {id=w, dep=z}");
  CHECK(message([&] { recognize_reduction(other, {"k"}); }) ==
        "instruction `w` does not accumulate: it has not the form `v = v + e`, with `+`, `*`, "
        "`min`, `max`, "
        "`or` or `and`");
}
