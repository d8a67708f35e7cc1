// Reductions and scans among Loo.py's own tests, done by Moonloop: each on C, OpenMP and the
// device, against the interpreter and what can be computed by hand.
#include <algorithm>
#include <cmath>

#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using namespace moonloop::test;

TEST_CASE("as in Loo.py: a sum whose length is an iteration's number and data") {
  const Kernel original = parsed(R"(
kernel lengths(n: int32, ell: int32[n], a: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < i + len}
<> len = ell[i]
a[i] = sum(j, j)
)");
  for (const Kernel& k : {original, split(original, "i", 16, "g.0", "l.0")}) {
    const RunResult run = run_everywhere(k, original, {{"n", "50"}});
    const auto ell = values<std::int32_t>(run, "ell"), a = values<std::int32_t>(run, "a");
    for (int i = 0; i < 50; ++i) {
      const int length = i + ell[static_cast<std::size_t>(i)];
      CHECK(a[static_cast<std::size_t>(i)] == length * (length - 1) / 2);
    }
  }
}

TEST_CASE("as in Loo.py: a sum of sums, each of which has a length from data") {
  const Kernel original = parsed(R"(
kernel boxes(targets: int32, boxes: int32, count: int32[boxes], a: out int32[targets])
domain {[t]: 0 <= t < targets}
domain {[box]: 0 <= box < boxes}
domain {[s]: 0 <= s < part}
for t
  for box
    <> part = count[box]
    <> inner = sum(s, s + box + t)
  end
  a[t] = sum(box, inner)
end
)");
  Kernel k = original;
  SUBCASE("as it is") {}
  SUBCASE("targets in groups") { k = split(k, "t", 4, "g.0", "l.0"); }
  const RunResult run = run_everywhere(k, original, {{"targets", "6"}, {"boxes", "7"}});
  const auto count = values<std::int32_t>(run, "count"), a = values<std::int32_t>(run, "a");
  for (int t = 0; t < 6; ++t) {
    int sum = 0;
    for (int box = 0; box < 7; ++box)
      for (int s = 0; s < count[static_cast<std::size_t>(box)]; ++s) sum += s + box + t;
    CHECK(a[static_cast<std::size_t>(t)] == sum);
  }
}

TEST_CASE("as in Loo.py: the largest magnitude and where it is, by one loop and by work-items") {
  const Kernel original = parsed(R"(
kernel largest(a: float64[128], most: out float64, at: out int32)
domain {[i]: 0 <= i < 128}
most, at = argmax(i, abs(0.5 - a[i]), i)
)");
  for (const char* tags : {"", "i:l.0", "i:ilp"}) {
    CAPTURE(tags);
    const RunResult run = run_everywhere(*tags ? tag(original, tags) : original, original, {});
    const auto a = values<double>(run, "a");
    const auto most = std::max_element(a.begin(), a.end(), [](double x, double y) {
      return std::abs(0.5 - x) < std::abs(0.5 - y);
    });
    CHECK(values<double>(run, "most")[0] == std::abs(0.5 - *most));
    CHECK(values<std::int32_t>(run, "at")[0] == most - a.begin());
  }
}

TEST_CASE("as in Loo.py: the nearest centre that fits, of values computed in the same loop") {
  const Kernel original = parsed(R"(
kernel centres(targets: int32, centres: int32, side: int32, tgt: float32[2, targets],
               centre: float32[2, centres], radius: float32[centres], face: int32[centres],
               found: out int32[targets])
domain {[c, t, d]: 0 <= t < targets and 0 <= c < centres and 0 <= d < 2}
for t
  for c
    <> distance = sum(d, (tgt[d, t] - centre[d, c])**2)
    <> inside = distance < (radius[c]*0.35)**2
    <> fits = (inside and side == 0) or (inside and side != 0 and side*(face[c] - 4) > 0)
    <float32> taken = distance if fits else 1e20
  end
  <> least, <> which = argmin(c, taken, c)
  found[t] = which if least < 1e20 else -1
end
)");
  Kernel k = original;
  SUBCASE("as it is") {}
  SUBCASE("targets in groups") { k = split(k, "t", 8, "g.0", "l.0"); }
  SUBCASE("centres on work-items") {
    k = fix(original, {{"centres", 20}});
    k = tag(k, "c:l.0, t:g.0");
    run_everywhere(k, fix(original, {{"centres", 20}}), {{"targets", "30"}, {"side", "-1"}});
    return;
  }
  for (const char* side : {"0", "1", "-1"})
    run_everywhere(k, original, {{"targets", "30"}, {"centres", "20"}, {"side", side}});
}

TEST_CASE("as in Loo.py: sums over the same two loops, in one and in two") {
  const Kernel original = parsed(R"(
kernel sums(n: int32, a: out int32, b: out int32, c: out int32)
domain {[i, j]: 0 <= i, j < n}
a = simul_reduce(sum, (i, j), i*j)
b = simul_reduce(sum, i, simul_reduce(sum, j, i*j))
c = simul_reduce(sum, i, i) - simul_reduce(sum, j, j)
)");
  const RunResult run = run_everywhere(original, original, {{"n", "20"}});
  CHECK(values<std::int32_t>(run, "a")[0] == 190 * 190);
  CHECK(values<std::int32_t>(run, "b")[0] == 190 * 190);
  CHECK(values<std::int32_t>(run, "c")[0] == 0);
}

TEST_CASE("as in Loo.py: reductions in both arms of a choice, and in the choice") {
  const Kernel original = parsed(R"(
kernel arms(y: out int32[10], z: out int32[10], w: out int32[10])
domain {[i]: 0 <= i < 5}
domain {[j]: 0 <= j < 10}
domain {[k, m, p]: 0 <= k, m, p < 10}
for m
  <int32> squares[m] = m**2
end
y[j] = 0 if j < 5 else sum(i, squares[i + j - 5])
z[j] = sum(i, i**3) if (sum(k, k**2) < 2) else (10 - j)
w[j] = 1729 if (sum(p, p) == 0) else sum(k, k)
)");
  Kernel k = original;
  SUBCASE("as it is") {}
  SUBCASE("on work-items") {
    k = step(k, "set_temporary_address_space", {word("squares"), word("local")});
    k = tag(k, "j:l.0, m:l.0");
  }
  SUBCASE("written out") { k = step(k, "realize_reduction", {}); }
  SUBCASE("unrolled") { k = tag(k, "i:unr, k:unr, p:unr"); }
  SUBCASE("side by side") { k = split(k, "j", 2, "", "ilp"); }
  const RunResult run = run_everywhere(k, original, {});
  const auto y = values<std::int32_t>(run, "y"), z = values<std::int32_t>(run, "z"),
             w = values<std::int32_t>(run, "w");
  for (int j = 0; j < 10; ++j) {
    int sum = 0;
    for (int i = 0; i < 5; ++i) sum += j < 5 ? 0 : (i + j - 5) * (i + j - 5);
    CHECK(y[static_cast<std::size_t>(j)] == sum);
    CHECK(z[static_cast<std::size_t>(j)] == 10 - j);
    CHECK(w[static_cast<std::size_t>(j)] == 45);
  }
}

TEST_CASE("as in Loo.py: a reduction under a condition of a group") {
  const Kernel original = parsed(R"(
kernel guarded(a: float32[42], b: inout float32[42])
domain {[l, i]: 0 <= l, i < 42}
if l > 0
  b[l] = sum(i, l*a[i])
end
)");
  for (const char* tags : {"l:g.0", "i:l.0", "l:g.0, i:l.0"})
    run_everywhere(tag(original, tags), original, {});
}

TEST_CASE("as in Loo.py: a sum over groups, over what each work-item adds up, and over these") {
  const Kernel original = parsed(R"(
kernel total(n: int32, a: float64[n], z: out float64[1])
domain {[i]: 0 <= i < n}
z[0] = sum(i, a[i])
)");
  Kernel k = split(original, "i", 80, "", "");
  k = split(k, "i_inner", 16, "", "l.0");
  k = step(k, "split_reduction_outward", {word("i_outer")});
  k = step(k, "split_reduction_inward", {word("i_inner_outer")});
  k = step(k, "reduction_arg_to_subst_rule", {word("i_outer")});
  REQUIRE(k.find_rule("red_i_outer_arg") != nullptr);
  k = precompute(k, "red_i_outer_arg", "i_outer",
                 {{"temporary_address_space", word("global")},
                  {"precompute_inames", word("part")},
                  {"default_tag", word("for")}});
  SUBCASE("in sequence") {}
  SUBCASE("a part for each group") { k = tag(k, "part:g.0"); }
  for (const char* n : {"1000", "80", "7"}) run_everywhere(k, original, {{"n", n}});
}

TEST_CASE("as in Loo.py: a sum over three loops, some of them outside of others") {
  const Kernel original = parsed(R"(
kernel cube(n: int32, a: float64[n, n, n], b: out float64)
domain {[i, j, k]: 0 <= i, j, k < n}
b = sum((i, j, k), a[i, j, k])
)");
  run_everywhere(step(original, "split_reduction_outward", {word("j, k")}), original, {{"n", "5"}});
  run_everywhere(step(original, "split_reduction_inward", {word("j")}), original, {{"n", "5"}});
  Kernel k = step(original, "split_reduction_outward", {word("j")});
  k = step(k, "split_reduction_outward", {word("k")});
  k = tag(split(k, "i", 4, "", "l.0"), "j:ord");
  run_everywhere(k, original, {{"n", "5"}});
}

TEST_CASE("as in Loo.py: only the reductions that are named are written out") {
  const Kernel original = parsed(R"(
kernel some(a: out int32, b: out int32, c: out float64)
domain {[i, j, k]: 0 <= i, j, k < 10}
a = sum(i, 8*i)             {id=eight}
b = sum(j, j*j)             {id=square}
c = sum(k, sin(3.14*k))     {id=sine}
)");
  const Kernel k = step(original, "realize_reduction", {word("id:eight or id:square")});
  CHECK(to_string(k.find_insn("sine")->rhs).find("sum(k") != std::string::npos);
  CHECK(to_string(k.find_insn("eight")->rhs).find("sum") == std::string::npos);
  const RunResult run = run_everywhere(k, original, {});
  CHECK(values<std::int32_t>(run, "a")[0] == 360);
  CHECK(values<std::int32_t>(run, "b")[0] == 285);
}

TEST_CASE("as in Loo.py: reductions over nothing, over no loop, and of conditions") {
  const Kernel original = parsed(R"(
kernel edge(n: int32, a: out int32[20], some: out bool, each: out bool, five: out bool,
            s: out float64)
domain {[i]: 0 <= i < 20}
domain {[j]: 0 <= j < n}
domain {[k, l]: 0 <= k, l < 10}
a[i] = sum(j, j + 1)
some = reduce(any, [k], k == 4)
each = reduce(all, [l], l == 5)
five = reduce(any, [], 5)
s = max(j, 1.0*j)
)");
  for (const char* tags : {"", "i:l.0, k:l.0, l:l.0"}) {
    const Kernel k = *tags ? tag(original, tags) : original;
    const RunResult run = run_everywhere(k, original, {{"n", "0"}});
    CHECK(values<std::int32_t>(run, "a") == std::vector<std::int32_t>(20, 0));
    CHECK(values<bool>(run, "some")[0]);
    CHECK_FALSE(values<bool>(run, "each")[0]);
    CHECK(values<bool>(run, "five")[0]);
  }
}

TEST_CASE("as in Loo.py: scans whose loops begin anywhere, with two new terms each time") {
  for (const auto& [sweep, scan] : {std::pair{4, 0}, {3, 1}, {2, 2}, {1, 3}, {0, 4}, {5, -1}}) {
    CAPTURE(sweep);
    const Kernel original = fix(parsed(R"(
kernel scan(n: int32, first: int32, low: int32, out: out int32[n])
domain {[i, j]: first <= i < n + first and low <= j <= 2*(i - first) + low}
out[i - first] = sum(j, j**2)
)"),
                                {{"first", sweep}, {"low", scan}});
    const Kernel k = step(original, "realize_reduction", {}, {{"force_scan", Value{true}}});
    const auto out = values<std::int32_t>(run_everywhere(k, original, {{"n", "10"}}), "out");
    int sum = 0, next = scan;
    for (int i = 0; i < 10; ++i) {
      for (; next <= 2 * i + scan; ++next) sum += next * next;
      CHECK(out[static_cast<std::size_t>(i)] == sum);
    }
  }
}

TEST_CASE("as in Loo.py: scans in rows that run at the same time, and of what a scan gave") {
  const Kernel rows = parsed(R"(
kernel rows(out: out int32[2, 10])
domain {[k]: 0 <= k <= 1}
domain {[i, j]: 0 <= i < 10 and 0 <= j <= i}
out[k, i] = k + sum(j, j**2)
)");
  for (const char* tags : {"k:l.0", "k:l.0, i:l.1", "k:g.0, i:l.0"}) {
    CAPTURE(tags);
    const Kernel k = step(tag(rows, tags), "realize_reduction", {}, {{"force_scan", Value{true}}});
    const auto out = values<std::int32_t>(run_everywhere(k, rows, {}), "out");
    for (int i = 0; i < 10; ++i) {
      const int sum = i * (i + 1) * (2 * i + 1) / 6;
      CHECK(out[static_cast<std::size_t>(i)] == sum);
      CHECK(out[static_cast<std::size_t>(i) + 10] == 1 + sum);
    }
  }
  const Kernel nested = parsed(R"(
kernel nested(out: out int32[10])
domain {[i]: 0 <= i < 10}
domain {[j]: 0 <= j <= i}
domain {[k]: 0 <= k <= i}
<> tmp[i] = sum(k, 1)
out[i] = sum(j, tmp[j])
)");
  const Kernel k = step(nested, "realize_reduction", {}, {{"force_scan", Value{true}}});
  const auto out = values<std::int32_t>(run_everywhere(k, nested, {}), "out");
  for (int i = 0; i < 10; ++i) CHECK(out[static_cast<std::size_t>(i)] == (i + 1) * (i + 2) / 2);
}

TEST_CASE("as in Loo.py: scans of two values by work-items") {
  for (const char* statement :
       {"most[i], at[i] = argmax(j, abs(0.5 - a[j]), j)",
        "most[i], <> flag = reduce(segmented(sum), j, a[j], starts[j] > 6)"}) {
    CAPTURE(statement);
    for (const int n : {1, 2, 3, 16, 17}) {
      const Kernel original =
          parsed("kernel pairs(a: float32[" + std::to_string(n) + "], starts: int32[" +
                 std::to_string(n) + "], most: out float32[" + std::to_string(n) +
                 "], at: inout int32[" + std::to_string(n) + "])\ndomain {[i, j]: 0 <= i < " +
                 std::to_string(n) + " and 0 <= j <= i}\n" + statement + "\n");
      for (const char* tags : {"", "i:l.0"}) {
        const Kernel k = *tags ? tag(original, tags) : original;
        run_everywhere(step(k, "realize_reduction", {}, {{"force_scan", Value{true}}}), original,
                       {});
      }
    }
  }
}

TEST_CASE(
    "as in Loo.py: work-items of one axis add up for each of another, one sum after the other") {
  for (const int n : {23, 1}) {
    CAPTURE(n);
    const Kernel original = fix(parsed(R"(
kernel columns(n: int32, x: float64[n, 5], z: out int32[5], w: out float64[5])
domain {[i, k, j]: 0 <= i, k < n and 0 <= j < 5}
z[j] = sum(i, i + j)
w[j] = reduce(max, i, x[i, j]) - reduce(min, k, x[k, j])
)"),
                                {{"n", n}});
    const Kernel k = tag(original, "i:l.0, k:l.0, j:l.1");
    const auto z = values<std::int32_t>(run_everywhere(k, original, {}), "z");
    for (int j = 0; j < 5; ++j) CHECK(z[static_cast<std::size_t>(j)] == n * (n - 1) / 2 + n * j);
  }
}
