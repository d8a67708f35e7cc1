#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// The right side that assigns to `r[i]`, in a kernel with one array of each type.
std::string rhs(const std::string& expression, const std::string& type = "float64") {
  const std::string c = code(
      "kernel k(n: int32, m: int64, s: float32, b: bool, d: float64[n], f: float32[n], "
      "i4: int32[n], i8: int64[n], u4: uint32[n], u8: uint64[n], i1: int8[n], u2: uint16[n], "
      "z: complex128[n], r: " +
          type + "[n])\ndomain {[i]: 0 <= i < n}\nassume n >= 1\nr[i] = " + expression + "\n",
      Target::C);
  const std::size_t at = c.rfind("r[i] = ") + 7;
  return c.substr(at, c.rfind(";\n") - at);
}

}  // namespace

TEST_CASE("expressions: no parentheses but those that C needs") {
  CHECK(rhs("d[i] + d[i]*(d[i] - 2.5)") == "d[i] + d[i]*(d[i] - 2.5)");
  CHECK(rhs("d[i] - (d[i] - d[i])") == "d[i] - (d[i] - d[i])");
  CHECK(rhs("d[i]/(d[i]*d[i])/d[i]") == "d[i] / (d[i]*d[i]) / d[i]");
  CHECK(rhs("-d[i]*d[i]") == "-d[i]*d[i]");
  CHECK(rhs("d[i] if d[i] > 0 and not b else -d[i]") == "d[i] > 0 && !b ? d[i] : -d[i]");
}

// (-i)/2 has the value of -(i/2), but n*-i/2 is another number than n*(-(i/2)).
TEST_CASE("expressions: a quotient that is subtracted stays whole in a product") {
  const auto subscript = [](const std::string& at) {
    const std::string c = code(
        "kernel k(n: int32, r: float64[n, n])\ndomain {[i]: 0 <= i < 2}\n"
        "assume n >= 2\nr[" +
            at + "] = 1\n",
        Target::C);
    const std::size_t from = c.rfind("r[");
    return c.substr(from, c.rfind(" = ") - from);
  };
  CHECK(subscript("-(i // 2), i") == "r[(int64_t)n*(-i / 2) + i]");
  CHECK(subscript("1 - (i + 1) // 2, i") == "r[(int64_t)n*(1 - (i + 1) / 2) + i]");
}

TEST_CASE("expressions: literals have the precision of their context") {
  CHECK(rhs("f[i]*2.5", "float32") == "f[i]*2.5f");
  CHECK(rhs("d[i]*2.5") == "d[i]*2.5");
  CHECK(rhs("0") == "0.0");
  CHECK(rhs("2*f[i]", "float32") == "2*f[i]");
}

TEST_CASE("expressions: operands are converted before C would compute in another type") {
  CHECK(rhs("i4[i]*i4[i]*d[i]") == "i4[i]*i4[i]*d[i]");  // (i4[i]*i4[i])*d[i]
  CHECK(rhs("i1[i] + i1[i] + d[i]") == "(int8_t)(i1[i] + i1[i]) + d[i]");
  CHECK(rhs("i8[i] + i8[i] + u8[i]") == "(double)(i8[i] + i8[i]) + u8[i]");
  CHECK(rhs("d[i]*i4[i]*i4[i]") == "d[i]*i4[i]*i4[i]");
  CHECK(rhs("i4[i]/i4[i]") == "(double)i4[i] / i4[i]");
  CHECK(rhs("1/i4[i]") == "1.0 / i4[i]");
  CHECK(rhs("u4[i] + i4[i]", "int64") == "(int64_t)u4[i] + i4[i]");
  CHECK(rhs("i1[i]*i1[i]", "int8") == "(int8_t)(i1[i]*i1[i])");
}

TEST_CASE("expressions: floor division and its rest") {
  CHECK(rhs("i4[i] // 3", "int32") == "floor_div_i32(i4[i], 3)");
  CHECK(rhs("i4[i] % 3", "int32") == "floor_mod_i32(i4[i], 3)");
  CHECK(rhs("i // 3 + i % 3", "int32") == "i / 3 + i % 3");
  CHECK(rhs("(n - 1 - i) // 3", "int32") == "floor_div_i32(n - 1 - i, 3)");
  CHECK(rhs("u4[i] // 3", "uint32") == "u4[i] / 3u");
  CHECK(rhs("u4[i] % 3", "uint32") == "u4[i] % 3u");
  CHECK(rhs("u4[i] % (u4[i] + 1)", "uint32") == "u4[i] % (u4[i] + 1u)");
  CHECK(rhs("d[i] // 2") == "floor_div_f64(d[i], 2.0)");
  CHECK(rhs("d[i] % 2") == "floor_mod_f64(d[i], 2.0)");
}

TEST_CASE("expressions: what is subtracted is not negated first") {
  CHECK(rhs("d[i] - u4[i]") == "d[i] - u4[i]");
  CHECK(rhs("d[i] + (-u4[i])") == "d[i] + (-u4[i])");
  CHECK(rhs("d[i] + (-u2[i])") == "d[i] + (uint16_t)-u2[i]");
  CHECK(rhs("u8[i] - b", "uint64") == "u8[i] - b");
}

TEST_CASE("expressions: integers compare as numbers") {
  CHECK(rhs("1 if i8[i] < u8[i] else 2") == "compare_i64(i8[i], u8[i]) < 0 ? 1.0 : 2.0");
  CHECK(rhs("1 if u8[i] < i4[i] else 2") == "compare_i64(i4[i], u8[i]) > 0 ? 1.0 : 2.0");
  CHECK(rhs("1 if u4[i] > -1 else 2") == "(int64_t)u4[i] > -1 ? 1.0 : 2.0");
  CHECK(rhs("1 if u4[i] > 1 else 2") == "u4[i] > 1u ? 1.0 : 2.0");
}

TEST_CASE("expressions: shifts by counts that may not be less than the width") {
  CHECK(rhs("i4[i] << 3", "int32") == "i4[i] << 3");
  CHECK(rhs("i4[i] >> (n & 31)", "int32") == "i4[i] >> (n & 31)");
  CHECK(rhs("i4[i] << n", "int32") == "shift_left_i32(i4[i], n)");
  CHECK(rhs("i4[i] >> 32", "int32") == "shift_right_i32(i4[i], 32)");
  CHECK(rhs("i8[i] << u4[i]", "int64") == "shift_left_i64(i8[i], u4[i])");
}

TEST_CASE("expressions: products of narrow unsigned integers wrap, and do not overflow an int") {
  CHECK(rhs("u2[i]*u2[i]", "uint16") == "(uint16_t)((uint32_t)u2[i]*u2[i])");
}

TEST_CASE("expressions: powers and functions") {
  CHECK(rhs("d[i]**2") == "d[i]*d[i]");
  CHECK(rhs("d[i]**0.5") == "pow(d[i], 0.5)");
  CHECK(rhs("i8[i]**3", "int64") == "cube_i64(i8[i])");
  CHECK(rhs("sqrt(f[i])", "float32") == "sqrtf(f[i])");
  CHECK(rhs("abs(i4[i])", "int32") == "abs(i4[i])");
  CHECK(rhs("abs(z[i])") == "cabs(z[i])");
  CHECK(rhs("min(d[i], 2.0, d[i])") == "min_f64(min_f64(d[i], 2.0), d[i])");
  CHECK(rhs("max(i4[i], 3)", "int32") == "max_i32(i4[i], 3)");
  CHECK(rhs("rsqrt(d[i])") == "1.0 / sqrt(d[i])");
  CHECK(rhs("isnan(d[i])", "int32") == "isnan(d[i]) != 0");
}

TEST_CASE("expressions: bits and casts") {
  CHECK(rhs("i8[i] << 2 | 1", "int64") == "(i8[i] << 2) | 1");
  CHECK(rhs("cast(int64, 1) << 40", "int64") == "(int64_t)1 << 40");
  CHECK(rhs("~i4[i] & 7 ^ 1", "int32") == "(~i4[i] & 7) ^ 1");
  CHECK(rhs("cast(float32, d[i]) + 1", "float32") == "(float)d[i] + 1");
}

TEST_CASE("subscripts: 64 bits where 32 may not hold them") {
  const std::string wide = code(R"(
kernel wide(n: int32, a: float64[n, n, 4])
domain {[i, j]: 0 <= i, j < n}
a[i, j, 3] = a[j, i, 0]
)",
                                Target::C);
  CHECK(wide.find("a[4*(int64_t)n*i + 4*(int64_t)j + 3] = a[4*(int64_t)n*j + 4*(int64_t)i];") !=
        std::string::npos);
  const std::string narrow = code(R"(
kernel narrow(a: float64[8, 8])
domain {[i, j]: 0 <= i, j < 8}
a[i, j] = a[j, i]
)",
                                  Target::C);
  CHECK(narrow.find("a[8*i + j] = a[8*j + i];") != std::string::npos);
  const std::string longs = code(R"(
kernel longs(n: int64, m: int64, a: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
a[i, j] = 0
)",
                                 Target::C);
  CHECK(longs.find("a[m*i + j] = 0.0;") != std::string::npos);
}

TEST_CASE("subscripts: Fortran order, strides and offsets") {
  CHECK_GOLDEN("layout.c", code(R"(
kernel layout(n: int32, a: float64[n, n] order=F, b: float64[n] stride:2 offset=3)
domain {[i]: 0 <= i < n}
assume n >= 2
a[i, 1] = b[i]
)",
                                Target::C));
}

TEST_CASE("subscripts: a stride that is a choice keeps to itself") {  // of the differential test
  const std::string c = code(R"(
kernel k(n: int32, a: float64[n, n] strides=(n if n > 5 else 5, 1))
domain {[i]: 0 <= i < n}
assume n >= 2
a[1, i] = i
)",
                             Target::C);
  CHECK(c.find("a[(n > 5 ? n : 5) + i] = i;") != std::string::npos);
}

TEST_CASE("names: words of C get an underscore") {
  CHECK_GOLDEN("reserved.c", code(R"(
kernel register(int: int32, double: float64[int])
domain [int] -> {[i]: 0 <= i < int}
double[i] = 3*double[i]
)",
                                  Target::C));
}

TEST_CASE("header: one prototype for C and C++") {
  const Kernel k =
      kernel("kernel fill(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n");
  CHECK_GOLDEN("fill.h", generate(k, Target::C).header);
}

TEST_CASE("expressions: parameters of all widths in what isl divides") {
  for (const char* type : {"int8", "int32", "uint16", "uint32"}) {
    const std::string c = code(std::string("kernel k(n: int32, s: ") + type +
                                   ", r: int32[n])\ndomain {[i]: 0 <= i < n and i mod 3 = 1}\n"
                                   "if s == i and i % 2 == 0\n  r[i] = 1\nend\n",
                               Target::C);
    const bool is_unsigned = type[0] == 'u';  // s is compared by its value, and i has the parity
    CHECK(function(c).find(is_unsigned ? "i % 2 == 0" : "(s + 2) % 6 == 0") != std::string::npos);
  }
}

// ---- Choices by number ------------------------------------------------------------------------

namespace {
std::string pieces(const std::string& start) {
  return code(
      "kernel pieces(n: int32, a: in int32[n], c: out float64[3*n + 40])\n"
      "domain {[o, p]: 0 <= o < 3 and 0 <= p and 3*p + o < n}\n"
      "c[(" +
          start + ") + p] = 1.0\n",
      Target::C);
}
}  // namespace

TEST_CASE("choices: where the pieces of a loop begin is a sum") {
  CHECK_GOLDEN("pieces.c",
               pieces("0 if o == 0 else n // 3 + min(1, n % 3) if o == 1 else 2*(n // 3) + "
                      "min(2, n % 3)"));
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(pieces("5 if o == 0 else n + 3 if o == 1 else 2*n + 1"),
            "c[(int64_t)o*n - 2*o + 5 + p] = 1.0"));
  // Another number than these, elements, factors that do not grow evenly.
  CHECK(has(pieces("0 if o == 0 else n"), "o == 0 ? 0 : n"));
  CHECK(has(pieces("0 if o == 0 else a[0] if o == 1 else 2*a[0]"),
            "o == 1 ? a[0] : 2*(int64_t)a[0]"));
  CHECK(has(pieces("0 if o == 0 else n if o == 1 else n + 1"), "o == 1 ? n : n + 1"));
  CHECK(has(pieces("0 if o == 1 else n if o == 2 else 2*n"),
            "o == 1 ? 0 : o == 2 ? n : 2*(int64_t)n"));
}
