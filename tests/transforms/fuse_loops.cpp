#include "transforms/fuse_loops.h"

#include "loop_kit.h"
#include "same_values.h"
#include "transforms/distribute_loops.h"

using namespace moonloop;

namespace {

/// Three loops over their own values; the second one reads what the first one writes.
Kernel apart(const std::string& read = "b[j]", const std::string& upper = "n") {
  return parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n], d: float64[n])\n"
      "domain {[i]: 1 <= i < n}\ndomain {[j]: 1 <= j < " +
      upper +
      "}\ndomain {[l]: 1 <= l < n}\n"
      "b[i] = 2*a[i] {id=p}\nc[j] = " +
      read + " + 1 {id=q}\nd[l] = a[l] {id=r}\n");
}

std::string said(const Kernel& k, const std::vector<std::string>& inames,
                 const std::string& name = "") {
  return message([&] { fuse_loops(k, inames, name); });
}

}  // namespace

TEST_CASE("fuse_loops: loops over the same values, under a name") {
  const Kernel k = apart();
  const Kernel all = fuse_loops(k, {"i", "j", "l"}, "x");
  CHECK(tree(all) == "for x\n  p\n  q\n  r\n");
  CHECK(conserves(k, all));
  CHECK(same_values(k, all, {{"n", 7}}));
  CHECK(tree(fuse_loops(k, {"i", "j"}, "")) == "for i\n  p\n  q\nfor l\n  r\n");
  CHECK(tree(fuse_loops(k, {"i", "j"}, "j")) == "for j\n  p\n  q\nfor l\n  r\n");
}

TEST_CASE("fuse_loops: different bounds, each statement within its own") {
  for (const char* upper : {"n - 2", "n/2"}) {
    CAPTURE(upper);
    const Kernel k = apart("b[j]", upper);
    const Kernel one = fuse_loops(k, {"j", "i"}, "x");
    CHECK(conserves(k, one));
    for (const std::int64_t n : {2, 5, 8}) CHECK(same_values(k, one, {{"n", n}}));
  }
}

TEST_CASE("fuse_loops: a dependence that would run backwards, and the next one that does not") {
  const std::string backwards = said(apart("b[n - j]"), {"i", "j"});
  CHECK(backwards.find("p[i=") != std::string::npos);
  CHECK(backwards.find("q[i=") != std::string::npos);
  const Kernel behind = apart("b[j - 1]");
  CHECK(same_values(behind, fuse_loops(behind, {"i", "j"}, ""), {{"n", 6}}));
  CHECK(said(apart("b[j + 1]", "n - 1"), {"i", "j"}).find("q[i=") != std::string::npos);
}

TEST_CASE("fuse_loops: undoes distribute_loops") {
  const Kernel k = fuse_loops(apart(), {"i", "j", "l"}, "");
  const Kernel back = fuse_loops(distribute_loops(k, "i", {}), {"i", "i_0", "i_1"}, "");
  CHECK(tree(back) == tree(k));
  CHECK(same_values(k, back, {{"n", 5}}));
}

TEST_CASE("fuse_loops: what it refuses by name") {
  const Kernel k = apart();
  CHECK(said(k, {"i"}) == "one loop is given to become one; it takes at least two");
  CHECK(said(k, {}) == "no loop is given to become one; it takes at least two");
  CHECK(said(k, {"i", "i"}) == "`i` is given twice");
  CHECK(code_of([&] { fuse_loops(k, {"i"}, ""); }) == "too-few-loops");
  CHECK(code_of([&] { fuse_loops(k, {"i", "i"}, ""); }) == "repeated-iname");
  CHECK(code_of([&] { fuse_loops(k, {"i", "j"}, "l"); }) == "name-taken");
  CHECK(code_of([&] { fuse_loops(k, {"i", "z"}, ""); }) == "unknown-iname");
}

namespace {

/// Rows before and behind row k; what these read of it is a copy, or `read`.
Kernel around_a_row(const std::string& read) {
  return parsed(
      "kernel f(n: int32, a: inout float64[n, n])\n"
      "domain {[k]: 0 <= k < n}\ndomain {[x]: 0 <= x < n}\n"
      "domain {[i, j]: 0 <= i < k and 0 <= j < n}\ndomain {[m]: 0 <= m < n}\n"
      "domain {[u, v]: k < u < n and 0 <= v < n}\n"
      "temp row: float64[n]\n"
      "row[x] = a[k, x] {id=copy}\na[i, j] = a[i, j] + " +
      read +
      " {id=before}\na[k, m] = 2*a[k, m] {id=at}\na[u, v] = a[u, v] - a[k, v] {id=behind}\n");
}

}  // namespace

TEST_CASE("fuse_loops: what stands in between goes first, where it does not need what is fused") {
  const Kernel k = around_a_row("row[j]");
  const Kernel one = fuse_loops(k, {"i", "u"}, "");
  CHECK(tree(one) ==
        "for k\n  for x\n    copy\n  for m\n    at\n  for i\n    for j\n      before\n"
        "    for v\n      behind\n");
  CHECK(conserves(k, one));
  for (const std::int64_t n : {1, 2, 5}) CHECK(same_values(k, one, {{"n", n}}));
}

TEST_CASE("fuse_loops: what stands in between needs the one and is needed by the other") {
  const std::string why = said(around_a_row("a[k, j]"), {"i", "u"});
  CHECK(why.find("the loop `i` before the loop `m` before the loop `i`") != std::string::npos);
}

TEST_CASE("fuse_loops: a loop that never runs, with another one in its domain") {
  // Found by the differential test: the inner loop was left without bounds.
  const Kernel k = apply(parsed("kernel f(n: int32, a: float64[n + 9], b: float64[n + 9])\n"
                                "domain {[i]: n <= i and i < n}\ndomain {[z]: 0 <= z < n}\n"
                                "a[i] = 1 {id=p}\nb[z] = 2 {id=q}\n"),
                         "split_iname", {text("i"), number(3)});
  CHECK(said(k, {"i_outer", "z"}) ==
        "`z` cannot become `i_outer`: there is no value for `i_inner`");
}
