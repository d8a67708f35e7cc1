// Loops that look for the largest or the smallest real number are compared in vectors.
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// The code of a kernel with these statements on target `c`, without its head.
std::string code_with(const std::string& statements, const std::string& domain = "0 <= j < n",
                      Target target = Target::C, const Tags& tags = {}) {
  return code(
      "kernel k(n: int32, a: float64[n, n], x: float64[n], y: float64[n], z: float64[n], "
      "w: int32[n], c: int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: " +
          domain + "}\nassume n >= 4\n" + statements,
      target, tags);
}

bool mentions_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("extrema: reductions over an innermost loop") {
  CHECK_GOLDEN("extrema.c",
               function(code_with("x[i] = max(j, a[i, j])\ny[i] = min(j, fabs(a[j, i]))\n")));
}

TEST_CASE("extrema: in order where another value, or an order, matters") {
  // Integers need no help, and few iterations do not pay.
  CHECK_FALSE(mentions_text(code_with("c[i] = max(j, w[j])\n"), "omp simd"));
  CHECK_FALSE(mentions_text(code_with("x[i] = max(j, a[i, j])\n", "0 <= j < 4"), "omp simd"));
  // A sum beside it is in order.
  CHECK_FALSE(
      mentions_text(code_with("for i\n  <> most = -1e300\n  <> all = 0.0\n  for j\n"
                              "    most = max(most, a[i, j])\n    all = all + a[i, j]\n  end\n"
                              "  x[i] = most + all\nend\n"),
                    "omp simd"));
  // `max` of kernel text says what comes of a NaN, so that its order is kept.
  CHECK_FALSE(mentions_text(
      code_with("for i\n  <> most = -1e300\n  for j\n    most = max(most, a[i, j])\n  end\n"
                "  x[i] = most\nend\n"),
      "omp simd"));
  // A tag says how the loop runs.
  CHECK_FALSE(mentions_text(
      code_with("x[i] = max(j, a[i, j])\n", "0 <= j < n", Target::C, {{"j", "unr_hint.2"}}),
      "omp simd"));
}

TEST_CASE("extrema: on threads, but not within lanes") {
  const std::string text = "x[i] = max(j, a[i, j])\n";
  CHECK(mentions_text(code_with(text, "0 <= j < n", Target::OpenMP, {{"i", "par"}}),
                      "    #pragma omp simd reduction(max: acc_j)\n"));
  const std::string lanes = code_with(text, "0 <= j < n", Target::OpenMP, {{"i", "simd"}});
  CHECK(mentions_text(lanes, "#pragma omp simd\n"));
  CHECK_FALSE(mentions_text(lanes, "reduction"));
}

// Differential test, seed 70287: the first statement behind another one's.
TEST_CASE("extrema: one inside another one, in a lane") {
  const std::string c = code(R"(
kernel k(n: int32, q: float64[n, n], b: float64[2, n])
domain {[o, i]: 0 <= o < 2 and i = 0}
domain {[l]: 0 <= l < n}
domain {[m]: 0 <= m < n}
domain {[j]: 0 <= j < n}
tag i: ilp
b[o, i + l] = max(m, max(j, q[j, l]))
)",
                             Target::C);
  CHECK(mentions_text(c, "#pragma omp simd reduction(max: acc_j_greatest)\n"));
  CHECK(mentions_text(c, "#pragma omp simd reduction(max: acc_m_greatest)\n"));
}

TEST_CASE("extrema: what each lane has found is an element, which a clause cannot name") {
  const std::string c = code(R"(
kernel k(n: int32, p: float64[n + 5, n + 5])
domain {[k]: 0 <= k < n}
domain {[l]: 0 <= l < n}
tag k: l.0
p[k, 3] = 0.125*min(l, p[k + 1, k])
)",
                             Target::C);
  CHECK(mentions_text(
      c, "double acc_l_least = acc_l[k];\n      #pragma omp simd reduction(min: acc_l_least)\n"));
  CHECK(mentions_text(c, "      acc_l[k] = acc_l_least;\n"));
}
