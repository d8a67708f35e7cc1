// Segmented reductions, whose terms stay in order, shared by work-items.
#include <doctest/doctest.h>

#include "core/model/print.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

/// Rows of 45 terms, some of which begin a segment.
Kernel rows(const std::string& op, const std::string& type) {
  return parsed("kernel seg(n: int32, x: in " + type + "[n, 45], f: in int32[n, 45], y: out " +
                type +
                "[n], z: out bool[n])\n"
                "domain {[r]: 0 <= r < n}\ndomain {[k]: 0 <= k < 45}\n"
                "y[r], z[r] = reduce(segmented(" +
                op + "), k, x[r, k], (f[r, k] + k*k) % 17 == 16)\n");
}

}  // namespace

TEST_CASE("segmented: each work-item has neighbouring terms") {
  for (const std::string op : {"sum", "product", "min", "max"})
    for (const std::string type : {"int32", "float64", "complex64"}) {
      if ((op == "min" || op == "max") && type == "complex64") continue;
      CAPTURE(op);
      CAPTURE(type);
      const Kernel k = rows(op, type);
      run_everywhere(step(split(k, "k", 7, "l.0", ""), "tag_inames", {word("r:g.0")}), k,
                     {{"n", "9"}});
    }
  const Kernel k = rows("sum", "int64");
  run_everywhere(step(k, "tag_inames", {word("r:g.0, k:l.0")}), k, {{"n", "5"}});
  // Several rows in a group, on either axis; one group for row after row.
  run_everywhere(split(split(k, "k", 3, "l.0", ""), "r", 4, "g.0", "l.1"), k, {{"n", "10"}});
  run_everywhere(split(split(k, "k", 16, "l.1", ""), "r", 4, "g.0", "l.0"), k, {{"n", "10"}});
  run_everywhere(split(k, "k", 5, "l.0", ""), k, {{"n", "6"}});
  // Vectors that the terms are read from, staged for the group.
  const Kernel staged = step(split(split(k, "k", 5, "l.0", ""), "r", 2, "g.0", ""), "add_prefetch",
                             {word("x"), word("r_inner, k_outer, k_inner")});
  run_everywhere(staged, k, {{"n", "7"}});
}

TEST_CASE("segmented: rows whose lengths are data") {
  const Kernel k = parsed(R"(
kernel seg(n: int32, cnt: in int32[n], x: in float64[n, 40], f: in int32[n, 40], y: out float64[n], z: out bool[n])
domain {[r]: 0 <= r < n}
domain {[k]: lo <= k < hi}
<int32> lo = cnt[r] % 5
<int32> hi = lo + (3*cnt[r] + 5*r) % 31
y[r], z[r] = reduce(segmented(sum), k, x[r, k], (f[r, k] + k) % 4 == 3)
)");
  for (const int pieces : {4, 8}) {
    const Kernel shared = step(k, "chunk_iname", {word("k"), Value{std::int64_t{pieces}}},
                               {{"outer_tag", word("l.0")}});
    run_everywhere(step(shared, "tag_inames", {word("r:g.0")}), k, {{"n", "11"}});
    run_everywhere(shared, k, {{"n", "4"}});
  }
}

TEST_CASE("segmented: a text whose lanes only a team can nest means the same") {
  // Differential test, seed 1411753: read again, it took the terms of all work-items by turns.
  const Kernel k = parsed(R"(
kernel seg(n: int32, c: in int32[n + 4], x: in int32[n, n], y: out int32[n, n], z: out bool[n, n])
domain {[r]: 0 <= r < n}
domain {[i]: 0 <= i <= r}
domain {[j]: 0 <= j <= i}
y[r, i], z[r, i] = reduce(segmented(sum), j, x[r, j] % 7, c[j % 5] % 3 == 0)  {inames=r:i}
)");
  const Kernel shared = step(split(k, "r", 2, "", "vec"), "chunk_iname",
                             {word("j"), Value{std::int64_t{4}}}, {{"outer_tag", word("l.2")}});
  const Kernel fetched = step(shared, "add_prefetch", {word("c"), word("r_inner")},
                              {{"default_tag", Value{false}}, {"fetch_bounding_box", Value{true}}});
  RunRequest request;
  request.target = Target::C;
  request.params = {{"n", "9"}};
  request.verify = true;
  for (const Kernel& again : {fetched, parsed(print_kernel(fetched))}) {
    CHECK(run_kernel(again, k, request).verification->equal());
    CHECK(run_kernel(k, again, request).verification->equal());  // as the interpreter reads it
  }
}

TEST_CASE("segmented: a team that nests loops stays one beside parts that are put together") {
  // Differential test, seed 1411037: all work-items became loops, which do not nest here.
  const Kernel k = parsed(R"(
kernel seg(n: int32, c: in int32[n + 4], x: int32[n, n], y: out int32[n, n], z: out bool[n, n], u: out int32[n, n])
domain {[r]: 0 <= r < n}
domain {[s]: 0 <= s < n}
domain {[t]: 0 <= t < n}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
x[r, s] = (x[r, s]*s) % 7                                                {id=made, inames=r:s}
y[r, i], z[r, i] = reduce(segmented(sum), j, x[r, j], c[j % 5] % 3 == 0)  {id=sums, inames=r:i}
u[r, t] = y[r, t] + y[r, n - 1 - t]                                      {id=used, inames=r:t}
)");
  const Kernel shared =
      step(k, "chunk_iname", {word("j"), Value{std::int64_t{4}}}, {{"outer_tag", word("l.0")}});
  const Kernel team = step(step(shared, "tag_inames", {word("t:l.0")}), "rename_iname",
                           {word("s"), word("t")}, {{"existing_ok", Value{true}}});
  RunRequest request;
  request.target = Target::C;
  request.params = {{"n", "9"}};
  request.verify = true;
  for (const Kernel& again : {team, parsed(print_kernel(team))}) {
    CHECK(run_kernel(again, k, request).verification->equal());
    CHECK(run_kernel(k, again, request).verification->equal());  // as the interpreter reads it
  }
}

TEST_CASE("segmented: the parts of neighbours are put together") {
  const std::string code = generate(step(split(rows("sum", "float32"), "k", 6, "l.0", ""),
                                         "tag_inames", {word("r:g.0")}),
                                    Target::Cuda)
                               .source;
  CHECK(code.find("reach = 1; reach < 8; reach *= 2") != std::string::npos);
  CHECK(code.find("__shfl") == std::string::npos);
}
