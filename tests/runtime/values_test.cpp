// Kernels of all kinds, on every target that runs here.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::run;
using test::run_everywhere;
using test::Shape;
using test::split;
using test::step;
using test::word;

namespace {

using Texts = std::vector<std::string>;

RunResult everywhere(const std::string& text, const GivenValues& params = {}) {
  const Kernel k = parsed(text);
  return run_everywhere(k, k, params);
}

/// Blocks of eight work-items along `iname`.
Kernel in_blocks(const Kernel& k, const char* iname) { return split(k, iname, 8, "g.0", "l.0"); }

}  // namespace

TEST_CASE("values: a checkerboard of conditions around loops and inside of them") {
  const Texts board = everywhere(R"(
kernel board(a: out int32[50, 50])
domain {[i, j]: 0 <= i, j < 50}
for i
  if i < 25
    for j
      if j % 2 == 0
        a[i, j] = 1
      else
        a[i, j] = 0
      end
    end
  else
    for j
      if j % 2 == 0
        a[i, j] = 0
      else
        a[i, j] = 1
      end
    end
  end
end
)")
                          .array("a")
                          .first(2500);
  Texts expected;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 50; ++j) expected.emplace_back((i < 25) == (j % 2 == 0) ? "1" : "0");
  CHECK(board == expected);

  const Texts arms = everywhere(R"(
kernel arms(a: out int32[50])
domain {[i]: 0 <= i < 50}
if i % 2 == 0
  if i % 3 == 0
    a[i] = 15
  elif i % 3 == 1
    a[i] = 11
  else
    a[i] = 3
  end
else
  a[i] = 4
end
)")
                         .array("a")
                         .first(50);
  for (std::size_t i = 0; i < 50; ++i) {
    CAPTURE(i);
    CHECK(arms[i] == (i % 2 == 1 ? "4" : i % 3 == 0 ? "15" : i % 3 == 1 ? "11" : "3"));
  }
}

TEST_CASE("values: fields of records are written and read back") {
  const std::string text = R"(
record ray(hit: int32, near: float32, far: float32, triangle: int32)
kernel trace(n: int32, result: out ray[n])
domain {[i]: 0 <= i < n}
for i
  result[i].hit = i % 2
  result[i].near = 0.25*i
  result[i].far = result[i].near + 2*result[i].hit
  result[i].triangle = 3*i
end
)";
  const Kernel k = parsed(text);
  for (const Kernel& one : {k, in_blocks(k, "i")})
    CHECK(run_everywhere(one, k, {{"n", "13"}}).array("result").first(3) ==
          Texts{"{hit: 0, near: 0, far: 0, triangle: 0}",
                "{hit: 1, near: 0.25, far: 2.25, triangle: 3}",
                "{hit: 0, near: 0.5, far: 0.5, triangle: 6}"});
}

TEST_CASE("values: a one of 64 bits is shifted beyond the 32nd") {
  const Texts a = everywhere(R"(
kernel powers(n: int32, a: out int64[n])
domain {[i]: 0 <= i < n}
a[i] = cast(int64, 1) << i
)",
                             {{"n", "63"}})
                      .array("a")
                      .first(63);
  for (std::size_t i = 0; i < 63; ++i) CHECK(a[i] == std::to_string(std::int64_t{1} << i));
}

TEST_CASE("values: inames that an equation ties, on work-items") {
  const Kernel original = parsed(R"(
kernel tied(n: int32, a: out int32[n, n], b: inout int32[n, n])
domain {[i, j]: 0 <= i, j < n}
domain {[k]: k = i + 5 and k < n}
a[i, j] = 5    {id=all}
b[i, k] = 220  {id=some, dep=all}
)");
  Kernel k = split(original, "i", 4, "g.0", "l.0");
  k = split(k, "j", 4, "g.1", "l.1");
  CHECK(run(k, original, {{"n", "10"}}) == Shape{1, 0});
  const Texts b = run_everywhere(k, original, {{"n", "10"}}).array("b").first(100);
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j < 10; ++j) CHECK((b[10 * i + j] == "220") == (j == i + 5));
}

TEST_CASE("values: a skewed pair of loops, the outer one on work-items") {
  const Kernel original = parsed(R"(
kernel skewed(out: out int32[10])
domain {[i]: 0 <= i <= 5}
domain {[j]: 2*i - 2 < j <= 2*i and 0 <= j <= 9}
for i, j
  out[j] = j
end
)");
  const Kernel k = split(original, "i", 5, "g.0", "l.0");
  CHECK(run_everywhere(k, original, {}).array("out").first(10) ==
        Texts{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

TEST_CASE("values: a loop of one iteration") {
  const std::string text = R"(
kernel one(a: out int32[1])
domain {[i]: 0 <= i < 1}
a[i] = 42
)";
  CHECK(everywhere(text).array("a").first(1) == Texts{"42"});
  CHECK(run(text, {{"i", "g.0"}}, {}) == Shape{1, 0});
}

TEST_CASE("values: a bound of an iname and data") {
  const Kernel original = parsed(R"(
kernel nested(n: int32, extra: in int32[n], s: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < i + m}
<> m = extra[i]
s[i] = sum(j, j)
)");
  for (const Kernel& k : {original, in_blocks(original, "i")}) {
    const RunResult r = run_everywhere(k, original, {{"n", "330"}});
    const Texts s = r.array("s").first(330), extra = r.array("extra").first(330);
    for (std::size_t i = 0; i < 330; ++i) {
      const std::size_t m = i + std::stoul(extra[i]);
      CHECK(s[i] == std::to_string(m == 0 ? 0 : m * (m - 1) / 2));
    }
  }
}

TEST_CASE("values: a bound from data within a loop whose bound is from data") {
  const Kernel counted = parsed(R"(
kernel lengths(n: in int32, length: in int32[n], total: out int32[n])
domain {[i]: 0 <= i < i_to}
domain [i, j_to] -> {[j]: 0 <= j < j_to}
<int32> i_to = n
<int32> j_to = length[i] + 4
total[i] = 0
total[i] = total[i] + 1 {inames=i:j}
)");
  const Kernel known = parsed(R"(
kernel lengths(n: in int32, length: in int32[n], total: out int32[n])
domain {[i]: 0 <= i < n}
total[i] = length[i] + 4
)");
  test::run_on(Target::C, known, counted, {{"n", "3"}});  // the interpreter runs the second one
  test::run_on(Target::C, counted, known, {{"n", "3"}});
}

TEST_CASE("values: two bounds from data in one loop") {
  const Kernel original = parsed(R"(
kernel two(m: int32, n: int32, choice: in int32[n], len: in int32[n], start: in int32[n],
           v: in float64[64], out: out float64[m, n])
domain {[j, i]: 0 <= j < m and 0 <= i < n}
domain {[p]: 0 <= p < p_end}
domain {[q]: 0 <= q < q_end}
for j, i
  <> p_end = abs(choice[i] - 5)
  <> q_end = len[i]
  <> a = 0.0
  <> b = 0.0
  for p
    a = a + v[(j + p) % 64]
  end
  for q
    b = b + v[(start[i] + q) % 64]
  end
  out[j, i] = a + exp(-b)
end
)");
  run_everywhere(original, original, {{"m", "5"}, {"n", "12"}});
  Kernel k = step(original, "fix_parameters", {Value{ValueDict{{"m", Value{std::int64_t{5}}}}}});
  const Kernel fixed = k;
  k = step(k, "tag_inames", {word("i:g.0, j:l.0")});
  run_everywhere(k, fixed, {{"n", "12"}});
}

TEST_CASE("values: sums that start anew and running maxima, over a triangle") {
  const Kernel segments = parsed(R"(
kernel segments(n: int32, x: in float64[n], flag: in int32[n], s: out float64[n],
                seen: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
s[i], seen[i] = reduce(segmented(sum), j, x[j], flag[j] > 6)
)");
  const Kernel maxima = parsed(R"(
kernel maxima(n: int32, x: in float64[n], m: out float64[n], at: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
m[i], at[i] = argmax(j, abs(x[j] - 0.5), j)
)");
  for (const Kernel& original : {segments, maxima})
    for (const Kernel& k : {original, in_blocks(original, "i")})
      for (const char* n : {"1", "2", "16", "17", "45"}) {
        CAPTURE(n);
        run_everywhere(k, original, {{"n", n}});
      }
}

TEST_CASE("values: three hundred arguments") {
  std::string args, terms;
  for (int i = 0; i < 300; ++i) {
    args += "a" + std::to_string(i) + ": in int32[n], ";
    terms += (i ? " + " : "") + std::to_string(i + 1) + "*a" + std::to_string(i) + "[i]";
  }
  const std::string text = "kernel many(" + args +
                           "n: int32, s: out int32[n])\ndomain {[i]: 0 <= i < n}\ns[i] = " + terms +
                           "\n";
  const Kernel k = parsed(text);
  const RunResult r = run_everywhere(in_blocks(k, "i"), k, {{"n", "11"}});
  CHECK(r.arrays.size() == 301);
  int sum = 0;
  for (int i = 0; i < 300; ++i)
    sum += (i + 1) * std::stoi(r.array("a" + std::to_string(i)).first(1)[0]);
  CHECK(r.array("s").first(1)[0] == std::to_string(sum));
}

TEST_CASE("values: arrays without elements") {
  const Kernel original = parsed(R"(
kernel rows(n: int32, m: int32, a: in float64[n, m], b: out float64[n, m], c: out float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
domain {[k]: 0 <= k < n}
domain {[l]: 0 <= l < m}
b[i, j] = 2*a[i, j]
c[k] = sum(l, a[k, l])
)");
  const Kernel spread = step(original, "tag_inames", {word("i:g.0, k:g.0")});
  for (const Kernel& k : {original, spread})
    for (const GivenValues& sizes : {GivenValues{{"n", "0"}, {"m", "5"}},
                                     {{"n", "5"}, {"m", "0"}},
                                     {{"n", "0"}, {"m", "0"}}}) {
      CAPTURE(sizes[0].second);
      const RunResult r = run_everywhere(k, original, sizes);
      CHECK(r.array("b").first(1).empty());
      CHECK(r.array("c").first(5) == Texts(sizes[0].second == "0" ? 0 : 5, "0"));
    }
}

// Differential test, seed 560028: `i` as a number had the type of what it was added to.
TEST_CASE("values: iterations written out compute in the type of their iname") {
  const Kernel plain = parsed(R"(
kernel wide(a: in int16[12], c: in int8[12], b: inout uint32[12], d: out int32[12])
domain {[i]: 0 <= i < 5}
domain {[e]: 2 <= e < 3}
b[i + 3] = (b[i + 1] + abs(cast(uint64, cast(int32, 9*a[i + 2] % 101) - 50)) + (i & 15)) % 101
d[i] = (100*i + c[i])*100
d[e + 5] = (cast(uint64, 9007199254740993) + e) % 1000 if a[e] > 0 else e*c[e]
)");
  run_everywhere(step(plain, "tag_inames", {word("i:unr")}), plain, {});
  run_everywhere(plain, plain, {});
}

TEST_CASE("values: a field of what a choice gives") {
  // Differential test, seed 43613269: of a rule that chooses between two arrays.
  const Kernel k = parsed(R"(
record pair(re: int64, count: int32)
kernel f(n: int32, r: in pair[n], s: out int64[n], t: out int32[n])
domain {[i]: 0 <= i < n}
s[i] = (r[i] if i % 2 == 0 else r[0]).re
t[i] = (r[n - 1] if r[i].count > 2 else r[i]).count + 1
)");
  test::run_everywhere(k, k, {{"n", "9"}});
}
