// float16 on every target that runs here: two bytes in memory, float32 in arithmetic.
#include "core/base/half.h"

#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::run_everywhere;
using test::same_everywhere;
using test::tagged;

TEST_CASE("half: arithmetic, casts, functions and choices") {
  same_everywhere(R"(
kernel arithmetic(n: int32, s: float16, a: in half[n], b: in float16[n], x: in float32[n],
                  y: in float64[n], m: in int32[n], c: out float16[n, 12], d: out float32[n, 5],
                  e: out bool[n, 3])
domain {[i]: 0 <= i < n}
c[i, 0] = a[i]*b[i] + s
c[i, 1] = a[i]
c[i, 2] = x[i] - 1.5*a[i]
c[i, 3] = y[i]/3
c[i, 4] = m[i] + 2049
c[i, 5] = 7
c[i, 6] = if(a[i] > b[i], a[i], b[i])
c[i, 7] = -sqrt(a[i]) + abs(b[i]) + min(a[i], x[i])
c[i, 8] = a[i] // (b[i] + 0.25) + a[i] % 0.125 + a[i]**2
c[i, 9] = 1e6*x[i] + 70000
c[i, 10] = cast(float16, x[i]/3)*3
c[i, 11] = i
d[i, 0] = cast(float16, x[i]/3)
d[i, 1] = cast(float16, a[i])
d[i, 2] = cast(float16, 2049)
d[i, 3] = a[i] + m[i]
d[i, 4] = max(a[i], b[i], s)
e[i, 0] = a[i] < b[i]
e[i, 1] = a[i] == x[i]
e[i, 2] = isnan(a[i])
)",
                  {{"i", "g.0"}}, {{"n", "70"}, {"s", "0.3"}});
}

TEST_CASE("half: temporaries, tables, tuples, complex numbers beside them") {
  same_everywhere(R"(
kernel kinds(n: int32, a: in float16[n], z: in complex64[n], c: out float16[n, 5], w: out complex64[n])
domain {[i]: 0 <= i < n}
temp t: float16[4] init=(1, -0.5, 65504, 0.1) read_only
<> first = a[i]
<float16> second = first/3
<float16> third, <float16> fourth = make_tuple(second + 1, first)
c[i, 0] = first
c[i, 1] = second
c[i, 2] = third*fourth
c[i, 3] = t[i % 4]
c[i, 4] = real(z[i])
w[i] = z[i]*a[i] + second
)",
                  {{"i", "g.0"}});
}

TEST_CASE("half: sums are sums of float32, by one work-item, by a group and over groups") {
  const std::string text = R"(
kernel sums(n: int32, a: in float16[n, 100], b: out float16[n], c: out float16[n], d: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 100}
b[i] = sum(j, a[i, j]*a[i, 99 - j])
c[i], d[i] = argmax(j, a[i, j], j)
)";
  for (const char* tag : {"ord", "l.0", "unr"})
    same_everywhere(text, {{"i", "g.0"}, {"j", tag}}, {{"n", "5"}});
  const Program p = generate(tagged(text, {{"i", "g.0"}}), Target::OpenCL);
  CHECK(p.source.find("float acc_j") != std::string::npos);
  CHECK(p.source.find("cl_khr_fp16") == std::string::npos);
}

TEST_CASE("half: copies in local memory, lanes, atomic updates") {
  const std::string text = R"(
kernel copies(n: int32, a: in float16[64*n], b: out float16[64*n], h: inout float16[8])
domain {[g, i, j, v]: 0 <= g < n and 0 <= i < 8 and 0 <= j < 2 and 0 <= v < 4}
domain {[q, r]: 0 <= q < n and 0 <= r < 8}
b[64*g + 8*i + 4*j + v] = 2*a[64*g + 8*i + 4*j + v] {id=twice}
h[r] = h[r] + a[64*q + 8*r] {id=add, atomic}
)";
  same_everywhere(text, {{"g", "g.0"}, {"i", "l.0"}, {"v", "vec"}, {"q", "g.0"}, {"r", "l.0"}},
                  {{"n", "3"}});
  const Program p =
      generate(tagged(text, {{"g", "g.0"}, {"i", "l.0"}, {"v", "vec"}}), Target::OpenCL);
  CHECK(p.source.find("ushort4") != std::string::npos);

  const std::string blur = R"(
kernel blur(n: int32, a: in float16[64*n + 2], b: out float16[64*n])
domain {[g, i]: 0 <= g < n and 0 <= i < 64}
b[64*g + i] = (a[64*g + i] + a[64*g + i + 1] + a[64*g + i + 2])/3
)";
  Kernel k = tagged(blur, {{"g", "g.0"}, {"i", "l.0"}});
  k = test::step(k, "add_prefetch", {test::word("a"), test::word("i")},
                 {{"default_tag", test::word("l.auto")}});
  run_everywhere(k, parsed(blur), {{"n", "3"}});
}

TEST_CASE("half: two lanes of eight bytes where eight numbers would need vectors that CUDA lacks") {
  const std::string text = R"(
kernel short_lanes(n: int32, a: in int16[8*n], b: out int16[8*n])
domain {[g, v]: 0 <= g < n and 0 <= v < 8}
b[8*g + v] = a[8*g + v] + 1
)";
  same_everywhere(text, {{"g", "g.0"}, {"v", "vec"}}, {{"n", "5"}});
  const std::string cuda =
      generate(tagged(text, {{"g", "g.0"}, {"v", "vec"}}), Target::Cuda).source;
  CHECK(cuda.find("short4") != std::string::npos);
  CHECK(cuda.find("short8") == std::string::npos);
}
