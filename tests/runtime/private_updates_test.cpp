#include "tests/runtime/device_kit.h"

/// Updates of copies in local and private memory, and of threads' own copies.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// Groups of 8 work-items with 4 elements each; the copies are those of groups, or of work-items.
Kernel privatized(const Kernel& original, const char* arrays, bool by_item,
                  ValueDict options = {}) {
  Kernel k = split(original, "i", 32, "g.0", "",
                   {{"outer_iname", word("group")}, {"inner_iname", word("element")}});
  k = split(k, "element", 8, "", "l.0",
            {{"outer_iname", word("step")}, {"inner_iname", word("item")}});
  return step(k, "privatize_updates", {word(arrays), word(by_item ? "step" : "step, item")},
              std::move(options));
}

void on_threads(const Kernel& k, const Kernel& original, const GivenValues& params) {
  for (const Target t : {Target::C, Target::OpenMP}) run_on(t, k, original, params);
}

const char* const kHistogram = R"(
kernel histogram(n: int32, data: in int32[n], bins: inout int32[11])
domain {[i]: 0 <= i < n}
bins[data[i] % 11] = bins[data[i] % 11] + 1   {atomic}
)";

}  // namespace

TEST_CASE("private updates: groups' copies in local memory, work-items' and threads' own") {
  const Kernel original = parsed(kHistogram);
  for (const char* n : {"1", "8", "32", "333"}) {
    const Kernel groups = privatized(original, "bins", false);
    // The copy begins before the updates, and they end before it is added.
    CHECK(run(groups, original, {{"n", n}}) == Shape{1, 2});
    const Kernel items = privatized(original, "bins", true);
    CHECK(items.find_temporary("bins_own")->space == AddressSpace::Private);
    CHECK(run(items, original, {{"n", n}}) == Shape{1, 0});
    Kernel threads = split(original, "i", 50, "par", "");
    threads = step(threads, "privatize_updates", {word("bins"), word("i_inner")});
    on_threads(threads, original, {{"n", n}});
  }
}

TEST_CASE("private updates: threads' own copies need no atomic operation") {
  Kernel threads = split(parsed(kHistogram), "i", 50, "par", "");
  threads = step(threads, "privatize_updates", {word("bins"), word("i_inner")});
  const std::string code = generate(threads, Target::OpenMP).source;
  CHECK(count(code, "#pragma omp atomic\n") == 1);
  CHECK(code.find("      bins_own[floor_mod_i32(data[i_inner + 50*i_outer], 11)] += 1;") !=
        std::string::npos);
  // A copy that several threads update.
  Kernel shared = parsed(kHistogram);
  shared = step(shared, "privatize_updates", {word("bins"), word("i")});
  shared = split(shared, "i", 50, "par", "");
  const std::string together = generate(shared, Target::OpenMP).source;
  CHECK(count(together, "#pragma omp atomic\n") == 2);
  on_threads(shared, parsed(kHistogram), {{"n", "333"}});
  // So do vectors: lanes of one thread may meet in an element.
  Kernel lanes = split(threads, "i_inner", 4, "", "simd");
  CHECK(generate(lanes, Target::OpenMP).source.find("#pragma omp atomic\n        bins_own[") !=
        std::string::npos);
}

TEST_CASE("private updates: operations and types") {
  const Kernel original = parsed(R"(
kernel tally(n: int32, x: float64[n], y: float32[n], v: int32[n], s: inout float64[3], m: inout float32[3],
             z: inout int64[3], c: inout int32[3], f: inout bool[3], w: inout uint16[3], b: inout int32[5],
             q: inout complex64[2], t: inout float32[3])
domain {[i]: 0 <= i < n}
s[v[i] % 3] = s[v[i] % 3] + x[i]                        {atomic}
m[v[i] % 3] = max(m[v[i] % 3], y[i])                    {atomic}
z[v[i] % 3] = z[v[i] % 3] - i                           {atomic}
c[v[i] % 3] = min(c[v[i] % 3], i - 40)                  {atomic}
f[v[i] % 3] = f[v[i] % 3] or v[i] > 90                  {atomic}
w[v[i] % 3] = w[v[i] % 3] ^ (i*i)                       {atomic}
b[v[i] % 5] = b[v[i] % 5] & (v[i] + 64)                 {atomic}
q[v[i] % 2] = q[v[i] % 2] + (0.5 + i*1j)                {atomic}
t[v[i] % 3] = y[i] if y[i] < t[v[i] % 3] else t[v[i] % 3] {atomic}
)");
  for (const char* n : {"5", "300"}) {
    run_everywhere(privatized(original, "s, m, z, c, f, w, b, q, t", false), original, {{"n", n}});
    run_everywhere(privatized(original, "s, m, z, c, f, w, b, q, t", true), original, {{"n", n}});
  }
}

TEST_CASE("private updates: threads take least values of the widest type") {
  const Kernel original = parsed(R"(
kernel most(n: int32, d: in int32[n], h: inout int64[8])
domain {[i]: 0 <= i < n}
h[d[i] % 5] = max(h[d[i] % 5], d[i] % 50)   {atomic}
)");
  Kernel k = split(original, "i", 20, "par", "");
  k = step(k, "privatize_updates", {word("h"), word("i_inner")});
  on_threads(k, original, {{"n", "333"}});
}

TEST_CASE("private updates: sums by group and k-means' centroids") {
  const Kernel by_group = parsed(R"(
kernel group_by_sum(n: int32, groups: int32, label: in int32[n], x: in float32[n], s: inout float32[groups])
domain {[i]: 0 <= i < n}
assume groups >= 7 and groups <= 100
s[label[i] % 7] = s[label[i] % 7] + x[i]   {atomic}
)");
  run_everywhere(privatized(by_group, "s", false), by_group, {{"n", "500"}, {"groups", "9"}});

  const Kernel means = parsed(R"(
kernel centroids(n: int32, label: in int32[n], x: in float32[n, 3], c: inout float32[5, 3], count: inout int32[5])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < 3}
c[label[i] % 5, k] = c[label[i] % 5, k] + x[i, k]   {atomic, inames=i:k}
count[label[i] % 5] = count[label[i] % 5] + 1       {atomic, inames=i}
)");
  Kernel k = split(means, "i", 32, "g.0", "");
  k = split(k, "i_inner", 8, "", "l.0");
  k = step(k, "privatize_updates", {word("c, count"), word("i_inner_outer, i_inner_inner, k")});
  CHECK(run(k, means, {{"n", "333"}}) == Shape{1, 2});
}

TEST_CASE("private updates: a local copy has a constant size") {
  const Kernel sized = parsed(R"(
kernel h(n: int32, m: int32, d: in int32[n], h: inout int32[m])
domain {[i]: 0 <= i < n}
h[d[i] % 8] = h[d[i] % 8] + 1   {atomic}
)");
  const Kernel k = privatized(sized, "h", false);
  CHECK(
      error_of([&] { generate(k, Target::Cuda); })
          .find(
              "`h_own` is in local memory, whose size has to be constant, but no assumption bounds "
              "its extent `m`; assume(\"m <= 256\"), with a number that holds, does") !=
      std::string::npos);
}

TEST_CASE("private updates: the last element of each work-item and thread, and those of a warp") {
  const Kernel original = parsed(R"(
kernel tally(n: int32, v: int32[n], x: float64[n], s: inout float64[n + 9], c: inout int32[n + 9],
             m: inout float32[9], z: inout int64[9], b: inout int32[5])
domain {[i]: 0 <= i < n}
s[v[i // 3] % 9] = s[v[i // 3] % 9] + x[i]          {atomic}
c[v[i // 5] % 7] = c[v[i // 5] % 7] + 1             {atomic}
m[v[i] % 9] = max(m[v[i] % 9], x[i])                {atomic}
z[v[i // 40] % 9] = z[v[i // 40] % 9] - i           {atomic}
b[v[i // 4] % 5] = b[v[i // 4] % 5] ^ (i*i)         {atomic}
)");
  for (const char* n : {"1", "32", "333"}) {
    const ValueDict last{{"holds", word("last")}};
    Kernel items = privatized(original, "s, c, m, z, b", true, last);
    run_everywhere(items, original, {{"n", n}});
    items = step(items, "combine_updates", {word("s, c, m, z, b")});
    run_everywhere(items, original, {{"n", n}});
    run_everywhere(
        step(split(original, "i", 64, "g.0", "l.0"), "combine_updates", {word("s, c, m, z, b")}),
        original, {{"n", n}});
    Kernel threads = split(original, "i", 50, "par", "");
    threads = step(threads, "privatize_updates", {word("s, c, m, z, b"), word("i_inner")}, last);
    on_threads(threads, original, {{"n", n}});
    on_threads(step(original, "privatize_updates", {word("s, c, m, z, b"), word("i")}, last),
               original, {{"n", n}});
  }
}
