#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// The code of generate()'s refusal, or none; has_code() has to agree.
std::string refused_with(const std::string& text, Target target, const Tags& tags) {
  const Kernel k = kernel(text, tags);
  std::string code;
  try {
    generate(k, target);
  } catch (const Error& e) { code = e.diagnostic().code; }
  CAPTURE(text);
  CAPTURE(code);
  CHECK(has_code(k, target) == code.empty());
  return code;
}

/// A product by tiles for matrix units; `some` is what is known of n.
std::string tiles(const std::string& some) {
  return R"(
kernel product(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[io, r, jo, q, p]: 0 <= r < 8 and 0 <= q < 4 and 0 <= p < 2 and
                           0 <= io and 8*io + r < n and 0 <= jo and 8*jo + 2*q + p < n}
domain {[ko, u]: 0 <= u < 4 and 0 <= ko and 4*ko + u < n}
)" + some +
         R"(temp t: float64
t = 0 {inames=io:jo:r:q:p}
t = a[8*io + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p] + t {inames=io:jo:r:q:p:ko:u}
c[8*io + r, 8*jo + 2*q + p] = t
)";
}

}  // namespace

TEST_CASE("has_code: where there is a program, for all targets") {
  for (const Target t : {Target::C, Target::OpenMP, Target::OpenCL, Target::Cuda}) {
    CHECK(refused_with(kProduct, t, {}).empty());
    CHECK(refused_with(kProduct, t, {{"i", "g.0"}, {"j", "l.0"}}).empty());
  }
}

TEST_CASE("has_code: loops that cannot be written out") {
  const std::string longer = R"(
kernel f(n: int32, a: float64[n, 512, 512])
domain {[k, i, j]: 0 <= k < n and 0 <= i, j < 512}
a[k, i, j] = 2*a[k, i, j]
)";
  CHECK(refused_with(kProduct, Target::C, {{"k", "unr"}}) == "unroll-bound");
  CHECK(refused_with(longer, Target::C, {{"j", "unr"}}).empty());
  CHECK(refused_with(longer, Target::C, {{"i", "unr"}, {"j", "unr"}}) == "unroll-bound");
  CHECK(refused_with(longer, Target::Cuda, {{"k", "g.0"}, {"i", "unr"}, {"j", "ilp"}}) ==
        "unroll-bound");
}

TEST_CASE("has_code: matrix units need all work-items of a warp") {
  const Tags tags{{"io", "g.1"}, {"jo", "g.0"}, {"r", "l.1"},
                  {"q", "l.0"},  {"p", "vec"},  {"u", "mma"}};
  CHECK(refused_with(tiles("assume n mod 8 = 0 and n >= 8\n"), Target::Cuda, tags).empty());
  CHECK(refused_with(tiles("assume n mod 4 = 0 and n >= 4\n"), Target::Cuda, tags) ==
        "no-matrix-unit");
  CHECK(refused_with(tiles(""), Target::Cuda, tags) == "no-matrix-unit");
  CHECK(refused_with(tiles(""), Target::C, tags).empty());
}

TEST_CASE("has_code: what the printer refuses") {
  const std::string local = R"(
kernel f(n: int32, a: float64[n], b: float64[n])
domain {[g, i, j]: 0 <= g < n and 0 <= i, j < 40000}
temp t: float64[40000] in local
t[i] = a[g]               {inames=g:i}
b[g] = b[g] + t[39999 - j] {inames=g:j}
)";
  CHECK(refused_with(local, Target::Cuda, {{"g", "g.0"}}) == "device-limit");
  const std::string external = R"(
kernel f(n: int32, a: float64[n])
external g: float64
domain {[i]: 0 <= i < n}
temp x: float64
x = g(a[i])
a[i] = x
)";
  CHECK(refused_with(external, Target::C, {}).empty());
  CHECK(refused_with(external, Target::OpenCL, {}) == "unsupported");
}
