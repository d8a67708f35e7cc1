#include "reports/report.h"
#include "tests/scripts/with_library.h"

/// `lib.parallel_rows`, by which loops that directives made parallel fit a processor.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const std::vector<GivenValues> kRowSizes{{{"n", "1"}, {"m", "1"}},
                                         {{"n", "13"}, {"m", "7"}},
                                         {{"n", "2"}, {"m", "19"}},
                                         {{"n", "17"}, {"m", "33"}}};

}  // namespace

TEST_CASE("library: parallel_rows makes parallel loops one that share rows") {
  const std::string rows =
      "kernel rows(n: int32, m: int32, s: float64, a: float64[n, m], b: out float64[n, m],\n"
      "            c: out float64[n, m], d: out float64[n, m])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\n"
      "domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < m}\n"
      "domain {[p]: 0 <= p < n}\ndomain {[q]: 0 <= q < m}\n"
      "tag i: par\ntag k: par\ntag p: par\n"
      "b[i, j] = 2*a[i, j]   {id=first}\n"
      "c[k, l] = b[k, l] + b[k, 0]   {id=second}\n"
      "d[p, q] = b[n - 1 - p, q] + c[p, q]   {id=third}\n";
  // `third` reads rows of `b` that other iterations write.
  const Kernel two = with_library(rows, "rows = lib.parallel_rows(rows)");
  CHECK(report_tree(two) ==
        "for i  [par]\n  for j\n    first\n  for l\n    second\nfor p  [par]\n  for q\n"
        "    third\n");
  verify(rows, two, kRowSizes);

  // Loops that share nothing stay, and so do those of other values and under other conditions.
  for (const char* const second :
       {"domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < m}\ntag k: par\nd[k, l] = c[k, l]",
        "domain {[k]: 0 <= k < n - 1}\ndomain {[l]: 0 <= l < m}\ntag k: par\nd[k, l] = a[k, l]",
        "domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < m}\nd[k, l] = a[k, l]"}) {
    const std::string apart =
        "kernel rows(n: int32, m: int32, a: float64[n, m], b: out float64[n, m],\n"
        "            c: float64[n, m], d: inout float64[n, m])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\ntag i: par\n"
        "b[i, j] = 2*a[i, j]   {if=n > 3, id=first}\n" +
        std::string(second) + "   {if=n > 3, id=second}\n";
    const Kernel same = with_library(apart, "rows = lib.parallel_rows(rows)");
    CHECK(same.trace.empty());
  }
  const std::string choice =
      "kernel rows(n: int32, m: int32, a: float64[n, m], b: inout float64[n, m])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\ntag i: par\n"
      "domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < m}\ntag k: par\n"
      "b[i, j] = 2*a[i, j]   {if=m > 7, id=first}\n"
      "b[k, l] = a[k, l] + b[k, l]   {if=n > 7, id=second}\n";
  CHECK(with_library(choice, "rows = lib.parallel_rows(rows)").trace.empty());
  CHECK(failure(rows, "local lib = require 'moonloop.lib'\nlib.parallel_rows(rows, {rows = 2})")
            .text ==
        "bad argument #2 to 'parallel_rows' (unknown option 'rows'; it has sums, threads)");
}

TEST_CASE("library: parallel_rows adds up in lanes") {
  const std::string sum =
      "kernel total(n: int32, m: int32, a: inout float64[n, m], s: out float64, t: out float64)\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\n"
      "domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < m}\ntag i: par\n"
      "s = sum((i, j), a[i, j]*a[i, j])\n"
      "t = sum((k, l), a[k, l])\n";
  const Kernel k = with_library(sum, "total = lib.parallel_rows(total)");
  CHECK(k.iname_tags.at("j").kind == TagKind::Simd);
  CHECK(!k.iname_tags.contains("l"));  // nothing says that its order does not count
  CHECK(generate(k, Target::C).source.find("#pragma omp simd reduction(+:") != std::string::npos);
  verify(sum, k, kRowSizes);
  CHECK(with_library(sum, "total = lib.parallel_rows(total, {sums = false})").trace.empty());
}

TEST_CASE("library: parallel_rows moves a loop along memory inwards where there are no threads") {
  const std::string edge =
      "kernel edge(n: int32, m: int32, u: inout float64[n, m])\n"
      "domain {[i]: 0 <= i < m}\ndomain {[k]: 0 <= k < n // 2}\ntag i: par\ntag k: simd\n"
      "u[k, i] = u[n - 1 - k, i]   {id=copy}\n";
  const char* const alone = "edge = lib.parallel_rows(edge, {threads = false})";
  const Kernel turned = with_library(edge, alone);
  CHECK(report_tree(turned) == "for k\n  for i  [simd]\n    copy\n");
  verify(edge, turned, kRowSizes);
  CHECK(with_library(edge, "edge = lib.parallel_rows(edge)").trace.empty());
  // Each row of the other one reads the row before, along `k`; nothing is in memory's order there.
  const std::string along =
      "kernel edge(n: int32, m: int32, u: inout float64[n, m])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < m}\ntag i: par\n"
      "u[i, k] = 2*u[i, k]   {id=twice}\n";
  CHECK(with_library(along, alone).trace.empty());
}

TEST_CASE("library: parallel_rows gives lanes of a short loop to the loop along memory around it") {
  const std::string part =
      "kernel part(n: int32, m: int32, u: inout float64[5, n], v: inout float64[n, 5],\n"
      "            at: int32[n])\n"
      "domain {[i, k]: 0 <= i < n and 0 <= k < 5}\ntag k: simd\n";
  const std::string by = "part = lib.parallel_rows(part)";
  const Kernel along = with_library(part + "u[k, i] = 2*u[k, i]   {id=twice}\n", by);
  CHECK(report_tree(along) == "for i  [simd]\n  for k\n    twice\n");
  verify(part + "u[k, i] = 2*u[k, i]   {id=twice}\n", along, kRowSizes);
  // Its elements follow each other.
  CHECK(with_library(part + "v[i, k] = 2*v[i, k]\n", by).trace.empty());
  // Iterations of the loop around it depend on each other, or a computed value chooses elements.
  for (const char* const body : {"u[k, i] = 2*u[k, (i + 1) % n]   {id=twice}\n",
                                 "<int32> which = at[i]  {inames=i}\n"
                                 "u[k, which] = 2*u[k, which]   {id=twice, inames=i:k}\n"}) {
    CAPTURE(body);
    const Kernel none = with_library(part + body, by);
    CHECK(none.iname_tags.empty());
  }
}
