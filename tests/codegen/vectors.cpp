// `vec` loops on processors: what has a form in vectors, and what stays a loop.
#include "tests/codegen/kit.h"

namespace moonloop {
namespace {

/// The function for `statement` in `for i in n, j in 8`, with `j` tagged.
std::string in_lanes(const std::string& statement, const std::string& domain = "0 <= j < 8",
                     const std::string& tag = "vec") {
  return function(
      code("kernel f(n: int32, s: float64, m: int32, x: in float64[n, 64], "
           "w: in float32[n, 64], y: float64[n, 64], z: float32[n, 64], "
           "p: in int32[64], q: int32[n, 64])\n"
           "domain {[i, j]: 0 <= i < n and " +
               domain + "}\ntag j: " + tag + "\n" + statement + "\n",
           Target::C));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("vectors: sums, products and quotients of rows and of what lanes have in common") {
  CHECK_GOLDEN("vectors.c", code(R"(
kernel f(n: int32, s: float64, x: in float64[n, 24], v: in float64[24], y: float64[n, 24])
domain {[i, j]: 0 <= i < n and 0 <= j < 24}
domain {[k]: 0 <= k < n}
tag j: vec
y[i, j] = y[i, j] - s*x[i, j]/v[j] + 2
y[i, j] = sum(k, x[k, j])
y[i, j] = s*i
)",
                                 Target::OpenMP));
  CHECK(has(in_lanes("y[i, j] = -x[i, j]"), "= -(*(vector_f64 const *)&x["));
  CHECK(has(in_lanes("z[i, j] = 0.5*w[i, j]"), "0.5f*(*(vector_f32_32 const *)&w["));
  CHECK(has(in_lanes("y[i, j] = s"), "= s - (vector_f64){0};"));
  CHECK(has(in_lanes("y[i, j] = x[i, j + 3]"), "= *(vector_f64 const *)&x["));
  CHECK(has(in_lanes("y[i, j + 1] = y[i, j + 1]*s"), "*(vector_f64 *)&y["));
}

TEST_CASE("vectors: they fill registers") {
  const auto type = [](const std::string& domain) {
    const std::string made = in_lanes("y[i, j] = s*x[i, j]", domain);
    const std::size_t at = made.find("*(vector");
    return at == std::string::npos ? "" : made.substr(at + 2, made.find(' ', at) - at - 2);
  };
  CHECK(type("0 <= j < 16") == "vector_f64");
  CHECK(type("0 <= j < 24") == "vector_f64");
  CHECK(type("0 <= j < 12") == "vector_f64_32");
  CHECK(type("1 <= j < 7") == "vector_f64_16");
  CHECK(type("0 <= j < 7") == "");
  CHECK(type("0 <= j < 8 and j < n") == "");  // how many is not known
  CHECK(type("0 <= j < 8 and 8 <= n") == "vector_f64");
}

TEST_CASE("vectors: what has no form in them stays a loop") {
  const auto stays = [](const std::string& statement) {
    const std::string made = in_lanes(statement);
    return !has(made, "vector_") && has(made, "#pragma omp simd") && has(made, "; ++j)");
  };
  CHECK(stays("y[i, j] = x[i, 2*j]"));    // elements apart
  CHECK(stays("y[i, j] = x[i, 7 - j]"));  // backwards
  CHECK(stays("y[i, j] = x[i, j*j]"));
  CHECK(stays("y[i, j] = x[i, p[j]]"));  // from anywhere
  CHECK(stays("y[i, j] = x[i, j] if x[i, j] > 0 else 0"));
  CHECK(stays("y[i, j] = sqrt(x[i, j])"));
  CHECK(stays("y[i, j] = max(x[i, j], s)"));
  CHECK(stays("y[i, j] = x[i, j]*j"));        // the lane's number
  CHECK(stays("y[i, j] = x[i, j]*w[i, j]"));  // two types
  CHECK(stays("z[i, j] = x[i, j]"));
  CHECK(stays("y[i, j] = x[i, j]*m"));              // an integer in common
  CHECK(stays("q[i, j] = q[i, j] + 1"));            // integers
  CHECK(stays("y[i, j] = x[i, j] {if=p[j] > 0}"));  // only some lanes
  // Lanes that share an accumulator.
  const std::string sum = function(
      code("kernel f(n: int32, x: in float64[n, 8], y: float64[n])\n"
           "domain {[i, j]: 0 <= i < n and 0 <= j < 8}\ntag j: vec\ny[i] = sum(j, x[i, j])\n",
           Target::C));
  CHECK(has(sum, "#pragma omp simd reduction(+:acc_j)"));
  CHECK(!has(sum, "vector_"));
  // Other tags ask for loops.
  CHECK(!has(in_lanes("y[i, j] = s*x[i, j]", "0 <= j < 8", "simd"), "vector_"));
}

TEST_CASE("vectors: all lanes run or none, which is a condition around the loop") {
  const std::string made = function(code(R"(
kernel f(n: int32, x: in float64[n], r: out float64[1])
domain {[o, l]: 0 <= o < n//8 and 0 <= l < 8 and 8*o + l < 8*(n//8)}
tag l: vec
r[0] = sum(l, sum(o, x[8*o + l]))
)",
                                         Target::C));
  CHECK(has(made, "if (n >= 8)\n    for (int32_t l = 0; l < 8; l += lanes_f64)\n"));
}

}  // namespace moonloop
