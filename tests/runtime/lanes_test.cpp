// `ilp` and `vec`, on every target that runs here.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::error_of;
using test::run_everywhere;
using test::split;
using test::step;
using test::word;

namespace {

/// Agrees with the interpreter on all targets; the OpenCL program.
std::string source_of_equal(const Kernel& k, const Kernel& original, const GivenValues& params) {
  run_everywhere(k, original, params);
  return generate(k, Target::OpenCL).source;
}
bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

const char* const kScale = R"(
kernel scale(n: int32, a: float32[n], b: float32[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]
)";
const char* const kProduct = R"(
kernel product(n: int32, a: float32[n, n], b: float32[n, n], c: float32[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

}  // namespace

// One iteration of the parallel loop uses the scalar, which lives on into the next run of the loop.
TEST_CASE("lanes: a value that one iteration keeps from one run of a parallel loop to the next") {
  const char* const kept = R"(
kernel kept(n: int32, a: float64[n], b: float64[n])
domain {[t]: 0 <= t < n}
domain {[w]: 0 <= w < 8}
for t, w
  <> last = a[t]  {if=w == 2 and t % 3 == 0}
  b[t] = last     {if=w == 2}
end
)";
  const Kernel original = parsed(kept);
  for (const char* tag : {"g.0", "l.0", "ilp", "unr", "vec"}) {
    CAPTURE(tag);
    run_everywhere(test::tagged(kept, {{"w", tag}}), original, {{"n", "11"}});
  }
  for (const char* tag : {"par", "simd"})
    for (const Target target : {Target::C, Target::OpenMP}) {
      CAPTURE(tag);
      test::run_on(target, test::tagged(kept, {{"w", tag}}), original, {{"n", "11"}});
    }
}

TEST_CASE("lanes: vectors where all iterations run, each by itself where not") {
  const Kernel original = parsed(kScale);
  Kernel k = split(original, "i", 4, "", "vec");
  k = split(k, "i_outer", 16, "g.0", "l.0");
  for (const char* n : {"1", "3", "64", "77", "131"}) {
    const std::string source = source_of_equal(k, original, {{"n", n}});
    CHECK(has(source, "float4 const v = *(__global float4 const *)&a["));
    CHECK(has(source, "*(__global float4 *)&b["));
  }
  // One of doubles holds two.
  Kernel wide = parsed(R"(
kernel scale(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = b[i] + a[i]
)");
  const Kernel plain = wide;
  wide = split(split(wide, "i", 4, "", "vec"), "i_outer", 16, "g.0", "l.0");
  CHECK(has(source_of_equal(wide, plain, {{"n", "75"}}), " = *(__global double2 *)&b["));
}

TEST_CASE("lanes: elements that do not follow each other are read one by one") {
  const char* const texts[] = {// Rows begin anywhere.
                               R"(
kernel rows(n: int32, a: float32[n, n], b: float32[n, n])
domain {[i, j]: 0 <= i, j < n}
b[j, i] = a[j, i]
)",
                               // Backwards, at a stride, shifted.
                               R"(
kernel others(n: int32, a: float32[2*n + 2], b: float32[n], c: float32[n], d: float32[n + 1])
domain {[i]: 0 <= i < n}
c[i] = b[n - 1 - i] + a[2*i] + d[i + 1]
)"};
  for (const char* t : texts) {
    const Kernel original = parsed(t);
    const Kernel k = split(split(original, "i", 4, "", "vec"), "i_outer", 8, "g.0", "l.0");
    const std::string source = source_of_equal(k, original, {{"n", "45"}});
    CHECK(!has(source, "float4 const *)&"));
  }
  // With knowledge about n they are.
  const Kernel original = parsed(texts[0]);
  Kernel k = step(original, "assume", {word("n mod 4 = 0")});
  k = split(split(k, "i", 4, "", "vec"), "i_outer", 8, "g.0", "l.0");
  CHECK(has(source_of_equal(k, original, {{"n", "44"}}), "*(__global float4 *)&b["));
}

TEST_CASE("lanes: conditions, several statements and temporaries of their own") {
  const Kernel original = parsed(R"(
kernel steps(n: int32, a: float32[n], b: float32[n], c: float32[n])
domain {[i]: 0 <= i < n}
<> t = a[i]*a[i]
if t > 0.25
  b[i] = t + 1
else
  b[i] = a[i]
end
c[i] = b[i] - t
)");
  for (const char* tag : {"vec", "ilp", "ilp.seq"}) {
    CAPTURE(tag);
    Kernel k = split(original, "i", 4, "", tag);
    k = split(k, "i_outer", 8, "g.0", "l.0");
    const std::string source = source_of_equal(k, original, {{"n", "61"}});
    CHECK(has(source, "float t[4];"));
  }
}

TEST_CASE("lanes: what is read under a condition and stored as a vector") {
  // Differential test, seed 31000769: the vector was stored without having been loaded.
  const Kernel k = parsed(R"(
kernel f(n: int32, x: float64[n], y: float32[n])
domain {[i]: 0 <= i < n}
x[i] = x[i] if i % 3 == 0 else 0.5
y[i] = 2 if i % 5 == 0 and y[i] > 0.3 else y[i] if i % 2 == 0 else 1
)");
  for (const int lanes : {2, 4})
    run_everywhere(split(k, "i", lanes, "g.0", "vec"), k, {{"n", "41"}});
}

TEST_CASE("lanes: a loop that no lane shares goes around all of them") {
  // Loo.py's test of an ilp loop under bounds.
  const Kernel original = parsed(kProduct);
  Kernel k = step(original, "prioritize_loops", {word("j,i,k")});
  k = split(k, "k", 4, "", "ilp");
  source_of_equal(k, original, {{"n", "37"}});
  // Registers: the accumulators of all lanes are adjacent in each step of k.
  k = split(original, "i", 8, "g.1", "ilp");
  k = split(split(k, "j", 32, "g.0", ""), "j_inner", 4, "l.0", "vec");
  const std::string source = source_of_equal(k, original, {{"n", "37"}});
  CHECK(has(source, "float acc_k[8][4];"));
  CHECK(has(source, "for (int k = 0; k < n; ++k)"));
}

TEST_CASE("lanes: vectors through local memory") {
  // Loo.py's test of vectors and ilp with a prefetch.
  const Kernel doubled = parsed(R"(
kernel doubled(n: int32, a: float32[n], b: float32[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]
)");
  Kernel k = split(doubled, "i", 128, "", "l.0");
  k = split(k, "i_outer", 4, "g.0", "ilp");
  k = step(k, "add_prefetch", {word("a"), word("i_inner, i_outer_inner")});
  source_of_equal(k, doubled, {{"n", "1024"}});
  source_of_equal(k, doubled, {{"n", "1000"}});

  const Kernel original = parsed(kProduct);
  k = step(original, "assume", {word("n mod 16 = 0 and n >= 16")});
  k = split(split(k, "i", 16, "g.1", ""), "i_inner", 4, "l.1", "ilp");
  k = split(split(k, "j", 16, "g.0", ""), "j_inner", 4, "l.0", "vec");
  k = split(k, "k", 16, "", "");
  k = step(k, "add_prefetch", {word("b"), word("j_inner_inner, j_inner_outer, k_inner")});
  const std::string source = source_of_equal(k, original, {{"n", "48"}});
  CHECK(has(source, "__local __attribute__((aligned(16))) float b_fetch[16][16];"));
  CHECK(has(source, "*(__local float4 const *)&b_fetch[k_inner][4*j_inner_outer]"));
}

TEST_CASE("lanes: work-items and lanes each have their own of a temporary") {
  const Kernel original = parsed(R"(
kernel table(n: int32, b: float32[n, 16, 17])
domain {[g]: 0 <= g < n}
domain {[i, j]: 0 <= i < 16 and 0 <= j < 17}
<> t = 5 + i + j
b[g, i, j] = t + g
)");
  const Kernel k = step(original, "tag_inames", {word("g:g.0, i:l.0, j:ilp")});
  CHECK(has(source_of_equal(k, original, {{"n", "3"}}), " t[17];"));
}

TEST_CASE("lanes: work-items put their parts together for each lane") {
  const Kernel original = parsed(R"(
kernel rows(n: int32, m: int32, a: float64[m, n], b: float64[m], w: float64[m], q: int32[m])
domain {[r]: 0 <= r < m}
domain {[i, j]: 0 <= i, j < n}
assume n >= 1
b[r] = 2*sum(i, a[r, i])
w[r], q[r] = argmin(j, a[r, j], j)
)");
  for (const int items : {5, 32}) {
    Kernel k = split(split(original, "i", items, "", "l.0"), "j", items, "", "l.0");
    k = split(split(k, "r", 4, "", "vec"), "r_outer", 3, "g.0", "ilp");
    for (const char* m : {"1", "12", "22"}) source_of_equal(k, original, {{"n", "43"}, {"m", m}});
  }
}

// Differential test, seed 34 on a device: `j` begins at -1 for `i = 0`, before its accumulators do.
TEST_CASE("lanes: a lane that is not there has no part to put together") {
  const Kernel original = parsed(R"(
kernel band(n: int32, b: float64[n + 4], c: float64[n + 4], p: float64[n + 4, n + 4])
domain {[i]: 0 <= i < 3}
domain {[j]: 0 <= j < n and i - 1 <= j <= i + 1}
domain {[l]: i <= l < n}
assume n >= 5
p[j, i + 2] = 0.125*(sum(l, c[j + 1]*b[l]))  {if=j <= i}
)");
  for (const int items : {2, 32}) {
    const Kernel k = split(split(original, "j", 4, "g.0", "ilp"), "l", items, "", "l.0");
    const std::string source = source_of_equal(k, original, {{"n", "37"}});
    CHECK(has(source, "if (i - 1 >= 0) {\n          acc_l_outer_l_inner_shared[item] = "));
  }
}

TEST_CASE("lanes: statements in braces stay under the condition of all lanes") {
  const Kernel k = split(parsed(R"(
kernel least(n: int32, m: int32, a: float64[m, n], w: float64[m], q: int32[m])
domain {[r]: 0 <= r < m}
domain {[j]: 0 <= j < n}
w[r], q[r] = argmin(j, a[r, j], j)
)"),
                         "r", 2, "", "vec");
  const std::string source = generate(k, Target::OpenCL).source;
  const std::string guard = "if (2*r_outer + 1 < m) {\n";
  std::size_t at = source.rfind(guard, source.find("double const value"));
  REQUIRE(at != std::string::npos);
  const std::size_t second = source.find("a[(long)n*(2*r_outer + 1) + j]", at);
  at += guard.size();
  for (int depth = 1; depth > 0; ++at) depth += source[at] == '{' ? 1 : source[at] == '}' ? -1 : 0;
  CHECK(second < at);  // the end of the guarded part
}

TEST_CASE("lanes: refused where iterations depend on one another, or are not so many") {
  const Kernel carried = parsed(R"(
kernel carried(n: int32, a: float32[n])
domain {[i]: 1 <= i < n}
a[i] = a[i - 1] + 1 {id=next}
)");
  for (const char* tag : {"vec", "ilp"}) {
    const std::string why = error_of([&] { split(carried, "i", 4, "", tag); });
    CHECK(has(why, "next[i_outer=0, i_inner=1]"));
    CHECK(has(why, "next[i_outer=0, i_inner=2]"));
  }
  const Kernel all = step(parsed(kScale), "tag_inames", {word("i:ilp")});
  CHECK(has(error_of([&] { generate(all, Target::OpenCL); }),
            "iname `i` is tagged `ilp`, but its number of iterations has no constant bound"));
  const Kernel shared = parsed(R"(
kernel race(a: int32[8])
domain {[i, j]: 0 <= i, j < 8}
a[i] = 5 + i + j {id=write}
)");
  CHECK(has(error_of([&] { step(shared, "tag_inames", {word("j:ilp")}); }), "write[i=0, j=0]"));
}

TEST_CASE(
    "lanes: where only some values of a strided loop are lanes") {  // of the differential test
  const Kernel original = parsed(R"(
kernel strided(n: int32, p: float64[n + 8, n + 8], q: float64[2*n + 8, n + 8])
domain {[i]: 0 <= i < n and i mod 2 = 0}
domain {[j]: 0 <= j <= i}
q[j + i + 1, j] = 0.25*p[j + 3, j + 3]
)");
  source_of_equal(split(original, "i", 3, "", "vec"), original, {{"n", "9"}});
}

TEST_CASE(
    "lanes: memory that groups choose has a copy for each lane") {  // of the differential test
  const Kernel original = parsed(R"(
kernel wide(q: int64[8, 8], b: int64[8])
domain {[u]: 0 <= u < 4}
q[u + 2, u + 2] = q[u + 3, u + 2] + q[u + 1, u + 3]
b[2*u] = q[u, u + 2]
)");
  Kernel k = step(original, "tag_inames", {word("u:vec")});
  k = step(k, "buffer_array", {word("q"), Value{ValueList{}}}, {{"default_tag", Value{false}}});
  source_of_equal(split(k, "q_init_0", 3, "g.1", "unr"), original, {});
}

TEST_CASE("lanes: what only some of them may read is not read for all") {
  const Kernel original = parsed(R"(
kernel edge(n: int32, a: float32[n - 1], b: float32[n], c: float32[n])
domain {[i]: 0 <= i < n}
assume n >= 2
b[i] = c[i] + (a[i] if i < n - 1 else 0)
)");
  const Kernel k = split(split(original, "i", 4, "", "vec"), "i_outer", 8, "g.0", "l.0");
  const std::string source = source_of_equal(k, original, {{"n", "40"}});
  CHECK(has(source, "*(__global float4 const *)&c["));
  CHECK(!has(source, "*(__global float4 const *)&a["));
}

// Differential test, seed 9214: a critical section may not be in a simd loop.
TEST_CASE("lanes: atomic updates in a simd loop, and in turns outside of one") {
  const Kernel original = parsed(R"(
kernel bits(n: int32, p: int64[n], h: inout int64[2], s: inout float64[2])
domain {[i, j]: 0 <= i, j < n}
h[0] = h[0] | p[j] % 7  {atomic, inames=i:j}
s[1] = s[1] + 2         {atomic, inames=i:j}
)");
  const Kernel k = step(split(original, "j", 4, "", "simd"), "tag_inames", {word("i:par")});
  for (const Target t : {Target::C, Target::OpenMP}) test::run_on(t, k, original, {{"n", "9"}});
}
