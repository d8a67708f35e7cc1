// Kernels whose loops, conditions and sizes depend on data, on hosts and devices.
#include <doctest/doctest.h>

#include "core/model/print.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

const char* const kSparse = R"(
kernel spmv(rows: int32, cnt: in int32[rows], vals: in float64[rows, 24], cols: in int32[rows, 24],
            x: in float64[8], y: out float64[rows])
domain {[i]: 0 <= i < rows}
domain {[k]: 0 <= k < length}
<int32> length = (7*cnt[i] + i) % 25
y[i] = sum(k, vals[i, k]*x[cols[i, k] % 8])
)";

const char* const kRow = R"(
kernel rows(n: int32, a: float64[n, 8], cnt: in int32[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
<int32> len = (cnt[i] + i) % 8
a[i, k] = a[i, k] + k
)";

const char* const kBoxes = R"(
kernel boxes(n: int32, x: in float64[2, 16], cnt: in int32[n], y: out float64[n])
domain {[b]: 0 <= b < n}
domain {[s]: lo <= s < hi}
domain {[i]: 0 <= i < 2}
for b
  <int32> lo = cnt[b] % 4
  <int32> hi = lo + (cnt[b] + b) % 12
  for s
    <> d[i] = x[i, s]*2 {dup=i}
    <> p = d[0]*d[1]
  end
  y[b] = simul_reduce(sum, s, p)
end
)";

const char* const kBranches = R"(
kernel branches(n: int32, f: in float64[n], c: in float64[n + 1], r: out float64[n])
domain {[i]: 0 <= i < n}
<int32> donor = i + 1  {id=yes, if=f[i] < 0.5}
donor = i              {id=no, if=not (f[i] < 0.5)}
r[i] = c[donor]        {id=use, dep=yes:no}
)";

}  // namespace

TEST_CASE("data bounds: rows in parallel") {
  same_everywhere(kRow, {{"i", "g.0"}}, {{"n", "12"}});
  run_everywhere(split(parsed(kRow), "i", 4, "g.0", "l.0"), parsed(kRow), {{"n", "13"}});
}

// Differential test, seed 4002558: the loop over `l.1` was outside of those that have its bound.
TEST_CASE(
    "data bounds: on hosts a work-item loop runs inside of those whose items compute its bound") {
  const Kernel original = parsed(kRow);
  const Kernel k = step(split(original, "i", 4, "g.0", "l.0"), "tag_inames",
                        {Value{ValueDict{{"k", word("l.1")}}}});
  for (const Target t : {Target::C, Target::OpenMP}) run_on(t, k, original, {{"n", "13"}});
  CHECK(error_of([&] { generate(k, Target::OpenCL); }).find("computed on the device") !=
        std::string::npos);
}

TEST_CASE("data bounds: work-items share a row") {
  const Kernel k = parsed(kSparse);
  for (const int by : {4, 8}) {
    const Kernel shared = step(split(k, "k", by, "", "l.0"), "tag_inames", {word("i:g.0")});
    run_everywhere(shared, k, {{"rows", "9"}});
    run_everywhere(split(k, "k", by, "", "l.0"), k, {{"rows", "5"}});  // one group, row after row
  }
  const Kernel row = parsed(kRow);
  run_everywhere(step(split(row, "k", 4, "", "l.0"), "tag_inames", {word("i:g.0")}), row,
                 {{"n", "9"}});
  CHECK_THROWS_WITH_AS(
      generate(tagged(kSparse, {{"i", "g.0"}, {"k", "l.0"}}), Target::OpenCL),
      "`k` is tagged `l.0`, but its bounds depend on `length`, which is computed on the device; "
      "split_iname(\"k\", 32) gives it an inner loop that can be tagged `l.0`",
      Error);
  // Differential test, seed 9700131: a stride is not an end.
  CHECK_THROWS_WITH_AS(
      generate(tagged(R"(
kernel f(n: int32, cnt: in int32[n], y: float64[n, n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < m and k mod 2 = 0}
<int32> m = cnt[i]
y[i, k] = 1.0  {inames=i:k}
)",
                      {{"k", "g.0"}}),
               Target::OpenCL),
      "`k` is tagged `g.0`, but its bounds depend on `m`, which is computed on the device; "
      "split_iname(\"k\", 32) gives it an inner loop that can be tagged `g.0`",
      Error);
}

TEST_CASE("known values: what arguments alone decide also says how many groups there are") {
  const char* const text = R"(
kernel blocks(n: int32, m: int32, x: in float64[n + 1], y: inout float64[n + 1], z: inout float64[n + 1])
domain {[b]: 0 <= b < whole and b mod 4 = 0}
domain {[k]: b <= k < b + 4}
domain {[r]: whole <= r < n}
domain {[s]: 0 <= s < more}
domain {[t]: 0 <= t < steps}
domain {[i]: 0 <= i < half}
domain {[j]: 0 <= j < half}
assume n >= 1
<int32> odd = max(m, -m) % 2
<int32> last = n - truncmod(n - 2*m, 4) - odd
<int32> whole = max(0, min(n, last)) // 4*4
<int32> steps = truncdiv(n - 9, 3)
<int32> half = n // 2
<int32> more = 1
more = more + half  {if=m > 0}
more = 0  {if=m < 0 and odd == 1}
y[k] = x[k] + b  {inames=b:k}
y[r] = 2*x[r]  {inames=r}
z[s] = z[s] - s  {inames=s}
for t
  z[i] = z[i] + y[half - 1 - i]  {id=add, inames=t:i}
  y[j] = z[half - 1 - j]  {id=back, inames=t:j}
end
)";
  const Kernel k = tagged(text, {{"b", "g.0"}, {"k", "l.0"}, {"r", "g.0"}, {"s", "g.0"}});
  const Kernel groups = split(split(k, "i", 4, "g.0", "l.0"), "j", 4, "g.0", "l.0");
  for (const char* n : {"1", "8", "30"})
    for (const char* m : {"-3", "5"}) run_everywhere(groups, k, {{"n", n}, {"m", m}});
  const Program p = generate(groups, Target::OpenCL);
  REQUIRE(std::holds_alternative<HostLoop>(p.device->steps.back().op));
  CHECK(std::get<HostLoop>(p.device->steps.back().op).iname == "t");
  run_everywhere(tagged(text, {{"i", "l.auto"}}), k, {{"n", "9"}, {"m", "1"}});
}

TEST_CASE("known values: none where data, loops or what is in between decide") {
  const auto refusal = [](const std::string& value) {
    const Kernel k = tagged(
        "kernel f(n: int32, wide: int64, c: in int32[9], y: inout float64[n, n])\n"
        "domain {[j]: 0 <= j < 3}\ndomain {[k]: 0 <= k < m and k mod 2 = 0}\nassume n >= 2\n" +
            value + "y[k, k] = 1.0  {inames=k}\n",
        {{"k", "g.0"}});
    return error_of([&] { generate(k, Target::OpenCL); });
  };
  CHECK(refusal("<int32> m = n - 1\n").empty());
  CHECK(refusal("<int32> m = n - 1  {inames=j}\n").empty());
  CHECK(refusal("m = n {id=last, dep=first}\n<int32> m = 2  {id=first}\n").empty());
  for (const std::string value :
       {"<int32> m = c[2]\n", "<int32> m = n\ny[1, 1] = m\nm = 1  {if=n <= 4}\n",
        "<int32> m = n  {if=c[0] > 4}\n", "<int32> m = n  {id=a}\nm = n - j  {dep=a, inames=j}\n",
        "<int32> m = n - j  {inames=j}\n", "<int32> m = cast(int32, wide)\n",
        "<int32> m = n  {id=a}\nm = m - 1  {dep=a, inames=j}\n",
        "<int32> l = c[0]\n<int32> m = min(n, l)\n", "<int16> m = n\n",
        "<int32> m = n // (n - 3)\n"}) {
    CAPTURE(value);
    CAPTURE(refusal(value));
    CHECK(refusal(value).find("`m`, which is computed on the device") != std::string::npos);
  }
}

// Differential test, seed 51000288: a condition on a lane's own pieces stood outside of the lanes.
TEST_CASE("data bounds: pieces of what each work-item counts for itself") {
  const Kernel original = parsed(R"(
kernel f(n: int32, look: in int32[n], p: inout int32[n, n], q: inout int32[n, n])
domain {[x]: 0 <= x < n}
domain {[k]: 0 <= k < m}
assume n >= 5
<int32> m = look[x] % 5
q[x, k] = p[x, k] + k
)");
  Kernel k = split(original, "x", 2, "g.0", "l.0");
  k = split(k, "k", 2, "", "par");
  k = step(k, "chunk_iname", {word("k_outer"), Value{std::int64_t{2}}});
  for (const Target t : {Target::C, Target::OpenMP}) run_on(t, k, original, {{"n", "13"}});
}

TEST_CASE("data bounds: several rows at once, each as long as it is") {
  for (const char* text : {kRow, kSparse}) {
    const Kernel original = parsed(text);
    const std::string n = text == kRow ? "n" : "rows";
    for (const char* tag : {"ilp", "vec", "ilp.seq"}) {
      CAPTURE(tag);
      const Kernel k = split(original, "i", 4, "", tag);
      run_everywhere(k, original, {{n, "13"}});
      run_everywhere(step(k, "tag_inames", {word("i_outer:g.0")}), original, {{n, "13"}});
    }
  }
  // All of a row, its sum included, is in one loop over the lanes.
  const std::string c = generate(split(parsed(kSparse), "i", 4, "", "vec"), Target::C).source;
  CHECK(count(c, "for (") == 3);
  CHECK(c.find("double acc_k = 0.0;") != std::string::npos);

  // With other loops around and between.
  const std::string deep = R"(
kernel deep(n: int32, m: int32, cnt: in int32[n], a: inout float64[m, n, 8], b: inout float64[m, n])
domain {[t]: 0 <= t < m}
domain {[i]: 0 <= i < n}
domain {[p]: 0 <= p < 2}
domain {[k]: 0 <= k < len}
for t, i
  <> base = t + i
  <int32> len = (cnt[i] + t) % 9
  for p, k
    a[t, i, k] = a[t, i, k] + base + p
  end
  b[t, i] = b[t, i] + len
end
)";
  for (const char* tag : {"ilp", "vec"})
    run_everywhere(split(parsed(deep), "i", 4, "", tag), parsed(deep), {{"n", "7"}, {"m", "3"}});
}

TEST_CASE("data bounds: rows at once that need one another are refused") {
  // All lanes of `put` come before those of `get`, whichever lane is first.
  const Kernel k = parsed(R"(
kernel meet(n: int32, cnt: in int32[n], a: inout float64[n, 9], b: out float64[n, 9])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
for i
  <int32> len = cnt[i] % 9
  for k
    a[i, k] = k                          {id=put}
    b[i, k] = a[i // 2, k] + a[i, k]     {id=get}
  end
end
)");
  const Kernel lanes = split(k, "i", 4, "", "ilp");
  CHECK(
      error_of([&] { generate(lanes, Target::C); }) ==
      "a loop has as many iterations as each value of `i_inner`, tagged `ilp`, says, so that these "
      "would run one after the other, but `put` and `get` may meet in `a`; "
      "untag_inames(\"i_inner\") runs them in order [unsupported]");
  run_everywhere(step(lanes, "untag_inames", {word("i_inner")}), k, {{"n", "9"}});
}

TEST_CASE("data bounds: an array that each iteration has to itself") {
  same_everywhere(kBoxes, {{"b", "g.0"}}, {{"n", "12"}});
  run_on(Target::OpenMP, tagged(kBoxes, {{"b", "par"}}), parsed(kBoxes), {{"n", "12"}});
  run_everywhere(split(parsed(kBoxes), "b", 4, "g.0", "l.0"), parsed(kBoxes), {{"n", "13"}});
}

TEST_CASE("conditions from data: both branches give an iteration its value") {
  same_everywhere(kBranches, {{"i", "g.0"}});
  run_on(Target::OpenMP, tagged(kBranches, {{"i", "par"}}), parsed(kBranches), {{"n", "40"}});
  run_everywhere(split(parsed(kBranches), "i", 8, "g.0", "l.0"), parsed(kBranches), {{"n", "21"}});
}

TEST_CASE("data bounds: a barrier cuts the program between a length and its loop") {
  const Kernel k = parsed(R"(
kernel cut(n: int32, a: int32[n], m: int32[n, 5], cnt: in int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < len}
for i
  <int32> len = cnt[i] % 5  {id=length}
  for j
    m[i, j] = 1  {id=fill}
  end
  a[i] = 1  {id=last}
end
)");
  const Kernel cut = step(k, "add_barrier", {word("id:length"), word("id:last")});
  run_everywhere(cut, k, {{"n", "6"}});
  const Kernel inside =
      step(k, "add_barrier", {word("id:fill"), word("id:last")}, {{"within_inames", word("i, j")}});
  CHECK_THROWS_WITH_AS(
      generate(inside, Target::OpenCL),
      "the loop over `j` runs on the host, because all groups wait in it, but its bounds need "
      "`len`, which is computed on the device",
      Error);
}

TEST_CASE("unsafe: every target takes what the user vouches for") {
  const Kernel k = parsed(R"(
kernel spread(n: int32, map: in int32[n], a: inout float64[n], b: in float64[n])
domain {[i]: 0 <= i < n}
a[map[i]] = a[map[i]] + b[i]   {id=add}
)");
  const auto trusted = [&](const char* tag) {
    return step(k, "tag_inames", {word(std::string("i:") + tag)}, {{"unsafe", Value{true}}});
  };
  CHECK(generate(trusted("par"), Target::OpenMP).source.find("#pragma omp parallel for") !=
        std::string::npos);
  for (const Target t : {Target::OpenCL, Target::Cuda})
    CHECK(generate(trusted("g.0"), t).device->kernels.size() == 1);
  const Kernel both = split(k, "i", 16, "g.0", "l.0", {{"unsafe", Value{true}}});
  for (const Target t : {Target::OpenCL, Target::Cuda})
    CHECK(generate(both, t).device->kernels.size() == 1);
}

TEST_CASE(
    "unsafe: what is vouched for holds in all iterations of the loops inside, not of those "
    "around") {
  const Kernel k = parsed(R"(
kernel rows(n: int32, m: int32, w: int32, steps: int32, b: in float64[n, m], u: inout float64[n*w + m])
domain {[t, i, j]: 0 <= t < steps and 0 <= i < n and 0 <= j < m}
assume n >= 1 and m >= 1 and w >= 1 and steps >= 0
u[i*w + j] = 0.5*u[i*w + j] + t*b[i, j]
)");
  const Kernel tagged = step(k, "tag_inames", {word("i:l.0")}, {{"unsafe", Value{true}}});
  run_everywhere(tagged, k, {{"n", "9"}, {"m", "5"}, {"w", "5"}, {"steps", "3"}});
  for (const char* loop : {"t:par", "j:par"})
    CHECK_THROWS_AS(step(tagged, "tag_inames", {word(loop)}), Refused);
  // Groups have the loops around them inside: that is more than anybody has vouched for.
  CHECK_THROWS_AS(
      generate(step(k, "tag_inames", {word("i:g.0")}, {{"unsafe", Value{true}}}), Target::C),
      Refused);

  const Kernel once = parsed(R"(
kernel once(n: int32, m: int32, w: int32, b: in float64[n, m], u: inout float64[n*w + m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
assume n >= 1 and m >= 1 and w >= 1
u[i*w + j] = 0.5*u[i*w + j] + b[i, j]
)");
  const Kernel groups = split(once, "i", 4, "g.0", "l.0", {{"unsafe", Value{true}}});
  run_everywhere(groups, once, {{"n", "9"}, {"m", "5"}, {"w", "5"}});
  for (const Target t : {Target::OpenCL, Target::Cuda})
    CHECK(generate(groups, t).device->kernels.size() == 1);
}

TEST_CASE("sizes: an extent below 0 holds nothing and takes no memory") {
  const Kernel k = parsed(R"(
kernel neg(n: int32, a: float64[n + 4], b: float64[n + 4])
domain {[i]: 9 <= i < n}
domain {[p]: 0 <= p < 9}
assume n >= 0
for i
  for p
    <float64> t[p] = a[i] + p
  end
  b[i] = t[3]
end
)");
  const Kernel own = step(k, "privatize_temporaries_with_inames", {word("i")});
  for (const char* n : {"0", "9", "12"})
    for (const Target t : {Target::C, Target::OpenMP}) run_on(t, own, k, {{"n", n}});
  const Kernel kept = step(own, "set_temporary_address_space", {word("t"), word("global")});
  for (const char* n : {"0", "12"}) run_everywhere(kept, k, {{"n", n}});
}

// Differential test, seed 228: the bounds of the parts have nothing in common.
TEST_CASE("data bounds: one loop over what data say and what a size says") {
  const Kernel original = parsed(R"(
kernel merged(n: int32, cnt: in int32[n], a: inout int32[n, 24], b: inout int32[n, 24])
domain {[i]: 0 <= i < n}
domain {[e]: 0 <= e <= i and e < 20}
domain {[k]: low <= k < len}
assume n >= 1
for i
  <int32> low = cnt[i] % 5
  <int32> len = low + 3*cnt[i] % 7
  b[i, e] = b[i, e] + e
  a[i, k] = a[i, k] + 10*k
end
)");
  const Kernel k = step(original, "rename_iname", {word("k"), word("e")},
                        {{"existing_ok", Value{true}}, {"raise_on_domain_mismatch", Value{false}}});
  for (const char* n : {"1", "23"}) {
    run_everywhere(k, original, {{"n", n}});
    run_everywhere(split(k, "i", 4, "g.0", "l.0"), original, {{"n", n}});
  }
}

// Differential test, seed 6230136: isl took the remainder of the first element's number for that of
// the work-item's.
TEST_CASE("data bounds: work-items run the first elements of rows that begin anywhere") {
  const Kernel original = parsed(R"(
kernel begins(n: int32, cnt: in int32[n], a: inout int32[n, 32])
domain {[i]: 0 <= i < n}
domain {[k]: low <= k < len}
for i
  <int32> low = (cnt[i] + i) % 5
  <int32> len = low + (cnt[i] + 2*i) % 4
  a[i, k] = a[i, k] + 10*k + 1
end
)");
  for (const int length : {2, 3, 4})
    for (const char* n : {"1", "29"})
      run_everywhere(split(original, "k", length, "", "l.0"), original, {{"n", n}});
}

// Differential test, seed 21100044: the range of a work-item turns out to be empty only once the
// parameters of two sets have the same order; that ended the tool.
TEST_CASE("device: work-items of a loop with two strides, some of which have nothing to do") {
  const Kernel original = parsed(R"(
kernel strides(n: int32, c: int64[3*n + 12], q: int64[3*n + 12, 3*n + 12])
domain {[k]: 0 <= k < 2}
domain {[l]: 0 <= l < n and l mod 3 = 0}
assume n >= 5
c[2*k + 3] = (c[k] if k + k < n else sum(l, q[k + 3, k - l + n]))  {inames=k}
)");
  const Kernel k = split(split(original, "l", 3, "", ""), "l_outer", 3, "", "l.0");
  for (const char* n : {"5", "23"}) run_everywhere(k, original, {{"n", n}});
}

TEST_CASE("data bounds: work-items wait in rows, each of which is as long as its own count says") {
  // `use` reads what the row's other work-items wrote in this iteration.
  const std::string text = R"(
kernel turned(n: int32, cnt: in int32[n], x: in float64[n, 20, 3], y: out float64[n, 20, 3])
domain {[i]: 0 <= i < n}
domain {[t]: BOUNDS}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
assume n >= 1
temp w: float64[n, 3] in global
for i
  <int32> low = (cnt[i] + i) % 5       {id=low}
  <int32> len = low + (2*cnt[i] + i) % 8  {id=len}
  for t
    w[i, k] = 2*x[i, t, k] + t         {id=make}
    y[i, t, l] = w[i, 2 - l] + l       {id=use}
  end
end
)";
  for (const char* bounds :
       {"0 <= t < len", "low <= t < len", "low <= t < 9", "0 <= t <= i and t < len and t < 20",
        "0 <= 2*t < len", "low <= t < len and t mod 2 = 0", "0 <= t < 9 and t = len"}) {
    CAPTURE(bounds);
    std::string own = text;
    own.replace(own.find("BOUNDS"), 6, bounds);
    const Kernel plain = parsed(own);
    const Kernel rows = split(plain, "i", 3, "g.0", "l.1");
    const Kernel all = step(rows, "tag_inames", {word("k:l.0, l:l.0")});
    for (const char* n : {"1", "8"}) run_everywhere(all, plain, {{"n", n}});
  }
}

TEST_CASE("data bounds: work-items wait in loops in loops, all of whose lengths differ") {
  const Kernel plain = parsed(R"(
kernel deep(n: int32, cnt: in int32[n], x: in float64[8, 8, 3], y: inout float64[n, 8, 8, 3])
domain {[i]: 0 <= i < n}
domain {[s]: 0 <= s < rows}
domain {[t]: from <= t < 7}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
assume n >= 1
temp w: float64[n, 3] in global
for i
  <int32> rows = cnt[i] % 6
  for s
    <int32> from = (cnt[i] + i + s) % 9
    for t
      w[i, k] = x[s, t, k] + i
      y[i, s, t, l] = w[i, 2 - l] + y[i, s, t, l]
    end
  end
end
)");
  const Kernel all = step(split(plain, "i", 3, "g.0", "l.1"), "tag_inames", {word("k:l.0, l:l.0")});
  for (const char* n : {"1", "8"}) run_everywhere(all, plain, {{"n", n}});
}

TEST_CASE("data bounds: work-items wait in a loop whose bounds have values on a condition alone") {
  const std::string text = R"(
kernel choice(n: int32, f: in float64[n], cnt: in int32[n], x: in float64[20, 3],
              y: inout float64[n, 20, 3])
domain {[i]: 0 <= i < n}
domain {[t]: 0 <= t < len}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
assume n >= 1
temp w: float64[n, 3] in global
for i
  if f[i] > 0.5
    <int32> len = (3*cnt[i] + i) % 20
    for t
      w[i, k] = x[t, k] + i
      y[i, t, l] = w[i, 2 - l] + y[i, t, l]
    end
  end
end
)";
  const Kernel plain = parsed(text);
  const Kernel row = step(plain, "tag_inames", {word("k:l.0, l:l.0")});
  for (const char* rows : {"", "g.0", "l.1"}) {
    const Kernel k = *rows ? step(row, "tag_inames", {word(std::string("i:") + rows)}) : row;
    // Where the condition does not hold, `len` is any number.
    const std::string code = generate(k, Target::OpenCL).source;
    const std::size_t update = code.find("atomic_max(&t_end, len)");
    REQUIRE(update != std::string::npos);
    CHECK(code.substr(0, update).ends_with("f[i] > 0.5)\n" +
                                           std::string(*rows == 'g' || *rows == 'l' ? 4 : 6, ' ')));
    for (const char* n : {"1", "5"}) run_everywhere(k, plain, {{"n", n}});
  }
}

// Differential test, seeds 9900387, 20140513 and others: the rows of a scan are in one group.
TEST_CASE("data bounds: work-items share the scans of rows of different lengths") {
  // PoCL 3.1's loops over work-items lose values over barriers, as soon as it optimizes: also where
  // the loop around these barriers has a constant number of iterations.
  const Setting method("POCL_WORK_GROUP_METHOD", "workitemrepl");
  const std::string text = R"(
kernel rows(n: int32, cnt: in int32[n + 4], x: int32[n + 4, 2*n + 8], y: int32[n + 4, 2*n + 8])
domain {[k]: 0 <= k < n}
domain {[i]: 0 <= i < LENGTH}
domain {[j]: 0 <= j <= i}
assume n >= 5
<int32> m = cnt[k] % 7  {id=length, inames=k}
y[k, i] = sum(j, x[k, j] % 7)  {id=scan, inames=k:i}
)";
  for (const char* length : {"m", "k"}) {
    std::string own = text;
    own.replace(own.find("LENGTH"), 6, length);
    const Kernel plain = parsed(own);
    for (const std::int64_t items : {2, 4}) {
      CAPTURE(length);
      CAPTURE(items);
      Kernel k = split(split(plain, "k", 3, "", "l.1"), "i", items, "", "l.0");
      k = step(k, "realize_reduction", {}, {{"force_scan", Value{true}}});
      for (const char* n : {"5", "14"}) run_everywhere(k, plain, {{"n", n}});
    }
  }
}

// Differential test, seed 1415182: isl distinguishes cases by whether a row has elements.
TEST_CASE("data bounds: a loop over what is in a row or in the array, in pieces") {
  const Kernel original = parsed(R"(
kernel either(n: int32, a: int32[2*n + 8], cnt: in int32[n])
domain {[j]: 0 <= j < n}
domain {[k]: low <= k < len or 0 <= k < n}
for j
  <int32> low = cnt[j] % 3
  <int32> len = low + cnt[j] % 4
  a[k] = a[k] + k
end
)");
  for (const char* n : {"1", "2", "9"})
    run_everywhere(split(original, "k", 4, "", ""), original, {{"n", n}});
}

TEST_CASE("data bounds: a loop in common inside of one that more work-items bound") {
  // `cols` is a row's, `rows` that of each of its parts.
  const Kernel plain = parsed(R"(
kernel more(n: int32, cnt: in int32[n, 2], x: in float64[5, 5, 3],
            y: inout float64[n, 2, 5, 5, 3])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 2}
domain {[s]: 0 <= s < rows}
domain {[t]: 0 <= t < cols}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
assume n >= 1
temp w: float64[n, 2, 3] in global
for i
  <int32> cols = (cnt[i, 0] + i) % 5
  for j
    <int32> rows = (cnt[i, j] + 2*j) % 5
    for s, t
      w[i, j, k] = x[s, t, k] + i
      y[i, j, s, t, l] = w[i, j, 2 - l] + y[i, j, s, t, l]
    end
  end
end
)");
  const Kernel rows = split(step(plain, "tag_inames", {word("j:l.2")}), "i", 3, "g.0", "l.1");
  const Kernel all = step(rows, "tag_inames", {word("k:l.0, l:l.0")});
  for (const char* n : {"1", "7"}) run_everywhere(all, plain, {{"n", n}});
}

TEST_CASE("data bounds: work-items wait in loops whose lengths differ from lane to lane") {
  const std::string text = R"(
kernel lanes(n: int32, cnt: in int32[n], x: in float64[n, 9, 3], y: inout float64[n, 9, 3])
domain {[i]: 0 <= i < n}
domain {[t]: low <= t < len}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
domain {[r]: 0 <= r < low}
assume n >= 1
temp w: float64[n, 3] in global
for i
  <int32> low = (cnt[i] + i) % 4
  <int32> len = low + (2*cnt[i] + i) % 6
  for t
    w[i, k] = 2*x[i, t, k] + t
    y[i, t, l] = w[i, 2 - l] + REST
  end
end
)";
  for (const char* rest : {"l", "sum(r, x[i, r, l])"}) {
    CAPTURE(rest);
    std::string own = text;
    own.replace(own.find("REST"), 4, rest);
    const Kernel plain = parsed(own);
    const Kernel items = step(plain, "tag_inames", {word("k:l.0, l:l.0")});
    for (const char* tag : {"ilp", "vec", "ilp.seq"}) {
      CAPTURE(tag);
      const Kernel lanes = split(items, "i", 2, "", tag);
      for (const char* n : {"1", "7"}) {
        run_everywhere(lanes, plain, {{"n", n}});
        run_everywhere(split(lanes, "i_outer", 2, "g.0", "l.1"), plain, {{"n", n}});
      }
    }
  }
}

TEST_CASE("data bounds: work-items wait between what each lane computes and the loop it bounds") {
  const Kernel plain = parsed(R"(
kernel between(n: int32, cnt: in int32[n], x: in float64[n, 3], y: inout float64[n, 9, 3])
domain {[i]: 0 <= i < n}
domain {[t]: 0 <= t < len}
domain {[k]: 0 <= k < 3}
domain {[l]: 0 <= l < 3}
assume n >= 1
temp w: float64[n, 3] in global
for i
  <int32> len = (2*cnt[i] + i) % 9
  w[i, k] = 2*x[i, k]
  y[i, t, l] = w[i, 2 - l] + t
end
)");
  const Kernel items = step(plain, "tag_inames", {word("k:l.0, l:l.0")});
  for (const char* tag : {"ilp", "vec", "ilp.seq"}) {
    CAPTURE(tag);
    const Kernel lanes = split(items, "i", 2, "", tag);
    for (const char* n : {"1", "7"}) run_everywhere(lanes, plain, {{"n", n}});
  }
}

TEST_CASE("data bounds: loops with the same bounds share where they begin and end") {
  const std::string text = R"(
kernel twice(n: int32, cnt: in int32[n], x: in float64[20, 3], y: inout float64[n, 20, 3],
             z: inout int32[n])
domain {[i]: 0 <= i < n}
domain {[s]: 0 <= s < 2}
domain {[t]: 0 <= t < len}
domain {[u]: 0 <= u < len}
domain {[k, k2]: 0 <= k < 3 and 0 <= k2 < 3}
domain {[l, l2]: 0 <= l < 3 and 0 <= l2 < 3}
assume n >= 1
temp w: float64[n, 3] in global
for i
  <int32> len = (3*cnt[i] + i) % 20              
  for s
    for t
      w[i, k] = x[t, k] + i
      y[i, t, l] = w[i, 2 - l] + y[i, t, l]
    end
    BETWEEN
    for u
      w[i, k2] = 2*x[u, k2] + s
      y[i, u, l2] = w[i, 2 - l2] + y[i, u, l2] + len
    end
  end
end
)";
  const auto ends = [&](const std::string& between, int apart) {
    std::string own = text;
    own.replace(own.find("BETWEEN"), 7, between);
    const Kernel plain = parsed(own);
    const Kernel all = step(split(plain, "i", 3, "g.0", "l.1"), "tag_inames",
                            {word("k:l.0, l:l.0, k2:l.0, l2:l.0")});
    for (const char* n : {"1", "8"}) run_everywhere(all, plain, {{"n", n}});
    CHECK(count(generate(all, Target::C).source, "_end = -2147483647") == apart);
    CHECK(count(generate(all, Target::OpenCL).source, "_end = -2147483647") == apart);
  };
  ends("z[i] = z[i] + len", 1);
  ends("len = (len + 7) % 20", 2);
}

TEST_CASE("data: a barrier that is asked for in rows, each of which has a length of its own") {
  const Kernel plain = parsed(R"(
kernel f(n: int32, cnt: in int32[n], x: in float64[n, 20], y: inout float64[n, 20],
         z: inout float64[n, 20])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
for i
  <int32> len = (3*cnt[i] + i) % 20
  for k
    y[i, k] = x[i, k]  {id=a}
    z[i, k] = y[i, k]  {id=b}
  end
end
)");
  const Kernel rows = split(plain, "i", 4, "g.0", "l.0");
  const ValueDict local{{"synchronization_kind", word("local")}};
  ValueDict told = local;
  told.emplace_back("within_inames", word("i_outer, i_inner, k"));
  const Kernel k = step(rows, "add_barrier", {word("id:a"), word("id:b")}, local);
  CHECK(print_kernel(k) ==
        print_kernel(step(rows, "add_barrier", {word("id:a"), word("id:b")}, told)));
  CHECK(count(generate(k, Target::OpenCL).source,
              "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)") == 1);
  for (const char* n : {"1", "9"}) run_everywhere(k, plain, {{"n", n}});
}
