// Widths of integers in generated code: 32 bits where these hold the values, else 64.
#include "tests/codegen/kit.h"
#include "transforms/join_inames.h"
#include "transforms/split_iname.h"

using namespace moonloop;

namespace {

/// The lines of the code that assign, without spaces in front.
std::string assignments(const std::string& text, Target t = Target::C) {
  std::istringstream in(code(text, t));
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.find("] = ") != std::string::npos && line.ends_with(';'))
      out += line.substr(line.find_first_not_of(' ')) + "\n";
  return out;
}

}  // namespace

TEST_CASE("widths: a subscript that 32 bits may not hold is computed in 64") {
  CHECK(assignments(R"(kernel big(n: int32, m: int32, a: int8[4*n], d: int8[2*n + 3], e: int8[n, 4],
  f: int8[n*m], g: int8[2*n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < 4}
domain {[k]: 0 <= k < m}
a[4*i] = a[4*i + 3]
d[i + n + 3] = 1
e[i, j] = a[4*i + j]
f[i + n*k] = 2
g[2*i + 1, k] = 3
)") == "a[4*(int64_t)i] = a[4*(int64_t)i + 3];\n"
       "d[(int64_t)i + n + 3] = 1;\n"
       "e[4*(int64_t)i + j] = a[4*(int64_t)i + j];\n"
       "f[i + (int64_t)n*k] = 2;\n"
       "g[m*(2*(int64_t)i + 1) + k] = 3;\n");
  CHECK(assignments("kernel big(n: int32, a: int8[4*n])\ndomain {[i]: 0 <= i < n}\na[4*i] = 1\n",
                    Target::OpenCL) == "a[4*(long)i] = 1;\n");
}

TEST_CASE("widths: a subscript that 32 bits hold is computed in them") {
  // By the axis' extent, by constant extents, by differences, or next to constants.
  CHECK(assignments(R"(kernel small(n: int32, a: int8[n], b: int8[n + 4], c: int8[4096])
domain {[io, ii]: 0 <= ii < 16 and 0 <= io and 16*io + ii < n}
domain {[i, j]: 0 <= j <= i < n}
domain {[k]: 0 <= k < 256}
a[16*io + ii] = 1
b[i + 3] = a[n - 1 - i] + a[i - j]
c[16*k + 3] = 2
)") == "a[16*io + ii] = 1;\n"
       "b[i + 3] = (int8_t)(a[n - i - 1] + a[i - j]);\n"
       "c[16*k + 3] = 2;\n");
  // By assumptions on the parameter: near it, one more is too many.
  const auto bounded = [](const std::string& most) {
    return assignments("kernel k(n: int32, a: int8[n, 4])\ndomain {[i]: 0 <= i < n}\nassume n <= " +
                       most + "\na[i, 2] = 1\n");
  };
  CHECK(bounded("536870911") == "a[4*i + 2] = 1;\n");
  CHECK(bounded("536870912") == "a[4*(int64_t)i + 2] = 1;\n");
}

TEST_CASE("widths: subscripts that differ by a constant are each judged by theirs") {
  CHECK(assignments(R"(kernel far(n: int32, k: int64, a: int8[k])
domain {[io, ii]: 0 <= ii < 16 and 0 <= io and 16*io + ii < n and 16*io + ii < 100000}
assume k >= 2147580001
a[16*io + ii + 1] = 1
a[16*io + ii + 2147380000] = 2
a[16*io + ii + 2147480000] = 3
)") == "a[16*io + ii + 1] = 1;\n"
       "a[16*io + ii + 2147380000] = 2;\n"
       "a[16*(int64_t)io + ii + 2147480000] = 3;\n");
}

TEST_CASE("widths: 64-bit literals of OpenCL C have 64 bits, a cast to bool its header") {
  const std::string text =
      "kernel k(n: int32, a: uint64[n])\ndomain {[k]: 0 <= k < n}\na[k] = (7 + a[k]) % 1009\n";
  CHECK(assignments(text, Target::OpenCL) == "a[k] = (7ul + a[k]) % 1009ul;\n");
  CHECK(assignments(text, Target::Cuda) == "a[k] = (7ull + a[k]) % 1009ull;\n");
  CHECK(code("kernel k(m: int32, a: float64[m])\ndomain {[i]: 0 <= i < m}\n"
             "<bool> t = a[i] > 1\na[i] = (2.0 if t else 1.0)\n",
             Target::C)
            .starts_with("#include <stdbool.h>\n#include <stdint.h>\n"));
}

TEST_CASE("widths: small powers are products of a value computed once") {
  CHECK(assignments("kernel k(n: int32, a: float32[n], b: float64[n], z: complex128[n])\n"
                    "domain {[i]: 0 <= i < n}\na[i] = (a[i] - 1)**2 + a[i]**3\n"
                    "b[i] = (b[i] + 1)**4 + b[i]**2 + b[i]**9\nz[i] = (z[i] + 1)**2\n") ==
        "a[i] = square_f32(a[i] - 1) + cube_f32(a[i]);\n"
        "b[i] = fourth_f64(b[i] + 1) + b[i]*b[i] + int_power_f64(b[i], 9);\n"
        "z[i] = square_c128(z[i] + 1);\n");
  CHECK(assignments("kernel k(n: int32, a: float32[n], b: float64[n], z: complex128[n])\n"
                    "domain {[i]: 0 <= i < n}\na[i] = a[i]**5 + (a[i] + 1)**2.0 + a[i]**1.0\n"
                    "b[i] = (b[i] + 1)**(-1) + b[i]**(-7.0) + b[i]**2.5\n"
                    "z[i] = z[i]**8 + z[i]**(-1)\n") ==
        "a[i] = power5_f32(a[i]) + square_f32(a[i] + 1) + a[i];\n"
        "b[i] = 1.0/(b[i] + 1) + power7_f64(1.0/b[i]) + pow(b[i], 2.5);\n"
        "z[i] = power8_c128(z[i]) + long_power_c128(z[i], -1);\n");
}

TEST_CASE("widths: a guard rounds down where its loop begins below the domain") {
  // `i` is never negative in the domain, but -1 is where the loop around the guard begins.
  const Kernel split =
      split_iname(kernel("kernel kk(n: int32, a: int64[2*n + 16], b: int64[2*n + 16])\n"
                         "domain {[i]: exists e: i = 3e + 1 and 0 <= i < n}\nassume n >= 1\n"
                         "for i\n  if i % 2 == 0\n    a[i] = 1  {id=s2}\n  end\n"
                         "  b[i] = 1  {id=s3}\nend\n"),
                  "i", 8);
  const Kernel joined = join_inames(split, {"i_outer", "i_inner"});
  const std::string c = generate(joined, Target::C).source;
  CAPTURE(c);
  const std::size_t begins = c.find(" = -1; "), guard = c.find("3*floor_div_i32(", begins);
  REQUIRE(begins != std::string::npos);
  CHECK(guard != std::string::npos);
  CHECK(c.find("floor_", c.find("b[", guard)) == std::string::npos);
}

// Behind 48 columns of indentation a long line was broken at its own beginning, without end.
TEST_CASE("codegen: long lines in deep nests are broken") {
  for (const int depth : {10, 22, 23, 24, 30, 60}) {
    std::string text = "kernel deep(p: in int32[99], a: inout float64[9])\n", indent;
    for (int d = 0; d < depth; ++d) {
      text += indent + "if p[" + std::to_string(d) + "] > a[" + std::to_string(d % 9) + "]\n";
      indent += " ";
    }
    text += indent + "a[0] = a[1]*(a[2] + 3.25) - a[3]*(a[4] + 5.25) + a[5]*(a[6] + 7.25) - " +
            "a[7]*(a[8] + 9.25) + a[1]*(a[3] + 11.25) - a[2]*(a[5] + 13.25)\n";
    for (int d = depth; d-- > 0;) text += std::string(static_cast<std::size_t>(d), ' ') + "end\n";
    CAPTURE(depth);
    const std::string code = generate(kernel(text), Target::C).source;
    CHECK(code.find("13.25") != std::string::npos);
    CHECK(code.size() < 100000);
  }
}
