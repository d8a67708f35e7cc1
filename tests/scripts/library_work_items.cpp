#include "reports/report.h"
#include "tests/scripts/with_library.h"

/// `lib.work_items`, by which parallel loops are given to groups of a device and their work-items.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kThreefold =
    "kernel triad(n: int32, m: int32, x: float64[n, m], y: float64[n, m])\n"
    "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
    "y[i, j] = y[i, j] + 3*x[i, j]   {id=add}\n";
const std::vector<GivenValues> kItemSizes{{{"n", "1"}, {"m", "1"}},
                                          {{"n", "13"}, {"m", "7"}},
                                          {{"n", "2"}, {"m", "19"}},
                                          {{"n", "17"}, {"m", "33"}}};

}  // namespace

TEST_CASE("library: work_items gives parallel loops to groups and their work-items") {
  const char* const work = "triad = lib.work_items(triad:tag_inames('i:par'), {size = 8})";
  const Kernel triad = with_library(kThreefold, work);
  CHECK(report_tree(triad) == "for i  [g.1]\n  for j_outer  [g.0]\n    add  [j_inner: l.0]\n");
  verify(kThreefold, triad, kItemSizes);

  // A loop whose iterations depend on each other stays, and so does one of a few iterations.
  const std::string lines =
      "kernel lines(n: int32, m: int32, u: inout float64[n, m], v: float64[n, m, 4])\n"
      "domain {[i, j]: 0 <= i < n and 1 <= j < m}\ndomain {[s]: 0 <= s < 4}\ntag i: par\n"
      "u[i, j] = u[i, j] + u[i, j - 1]   {id=carry}\n"
      "v[i, j, s] = s*u[i, j]   {id=few}\n";
  const Kernel carried = with_library(lines, "lines = lib.work_items(lines)");
  CHECK(report_tree(carried) ==
        "for i_outer  [g.0]\n  for j\n    carry  [i_inner: l.0]\n    for s\n"
        "      few  [i_inner: l.0]\n");
  verify(lines, carried, kItemSizes);

  CHECK(refusal(kThreefold, "lib.work_items(triad, {size = 0})").text ==
        "bad argument #2 to 'work_items' (0 is less than 1)");
  const Kernel untagged = with_library(kThreefold, "triad = lib.work_items(triad, {size = 8})");
  CHECK(report_tree(untagged) == report_tree(triad));
  const std::string sum =
      "kernel sum(n: int32, m: int32, u: inout float64[n, m])\n"
      "domain {[i]: 1 <= i < n}\nu[i, 0] = u[i, 0] + u[i - 1, 0]\n";
  CHECK(with_library(sum, "sum = lib.work_items(sum)").iname_tags.empty());
}

TEST_CASE("library: work_items gives each work-item several rows, one after the other") {
  const Kernel four =
      with_library(kThreefold, "triad = lib.work_items(triad:tag_inames('i:par'), {each = 4})");
  CHECK(report_tree(four) ==
        "for i_outer  [g.1]\n  for j_outer  [g.0]\n    for i_inner\n      add  [j_inner: l.0]\n");
  verify(kThreefold, four, kItemSizes);
  CHECK(refusal(kThreefold, "lib.work_items(triad, {each = 0})").text ==
        "bad argument #2 to 'work_items' (0 is less than 1)");
}

TEST_CASE("library: work_items leaves to work-items what unsafe let a loop have") {
  const std::string spread =
      "kernel spread(n: int32, map: int32[n], a: inout float64[n], b: float64[n])\n"
      "domain {[i]: 0 <= i < n}\na[map[i]] = a[map[i]] + b[i]  {id=add}\n"
      "b[j] = 2*b[j]  {id=twice}\n";
  const std::string with_j = "domain {[j]: 0 <= j < n}\n";
  std::string both = spread;
  both.insert(both.find("a[map"), with_j);
  const std::string by =
      "spread = spread:tag_inames({i = 'par'}, {unsafe = true})\n"
      "assert(table.concat(spread.trusted_inames, ' ') == 'i')\n";
  const Kernel k = with_library(both, by + "spread = lib.work_items(spread, {size = 8})");
  CHECK(report_tree(k) ==
        "for i_outer  [g.0]\n  add  [i_inner: l.0]\nfor j_outer  [g.0]\n  twice  [j_inner: l.0]\n");
  REQUIRE(k.claims.size() == 2);
  CHECK(k.claims[1].names == std::vector<std::string>{"i_inner", "i_outer"});
  // Without the claim, only the other loop is parallel.
  CHECK(refusal(both, "lib.work_items(spread:tag_inames('i:par'))").code == "not-proved");
}

TEST_CASE("library: work_items gives loops of lanes that are parallel to work-items, too") {
  const auto step = [](const std::string& more, const std::string& body) {
    return "kernel step(n: int32, m: int32, a: float64[n, m + 2], " + more +
           ")\n"
           "domain {[i, j]: 0 <= i < n and 0 <= j < m}\ntag i: par\ntag j: simd\n" +
           body;
  };
  const std::string by = "step = lib.work_items(step, {size = 8, rows = 4})";
  const std::string shifted =
      step("b: out float64[n, m]", "b[i, j] = a[i, j] + a[i, j + 2]   {id=add}\n");
  const Kernel both = with_library(shifted, by);
  CHECK(report_tree(both) == "for i  [g.1]\n  for j_outer  [g.0]\n    add  [j_inner: l.0]\n");
  verify(shifted, both, kItemSizes);

  // Lanes that are a promise are one for work-items.
  std::string carried = step("b: inout float64[n, m + 2]", "b[i, j + 1] = b[i, j]   {id=carry}\n");
  carried.erase(carried.find("tag j: simd\n"), 12);
  const Kernel lanes =
      with_library(carried, "step = lp.tag_inames(step, {j = 'simd'}, {unsafe = true})\n" + by);
  CHECK(report_tree(lanes) == "for i  [g.1]\n  for j_outer  [g.0]\n    carry  [j_inner: l.0]\n");
  CHECK(lanes.claims.size() == 2);

  // A sum over both has its parts in groups along both.
  const std::string total = step("t: out float64", "t = sum((i, j), a[i, j])   {id=total}\n");
  const Kernel parts = with_library(total, by);
  CHECK(report_tree(parts).find("j_inner: l.0") != std::string::npos);
  verify(total, parts, kItemSizes);
}
