#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// What the kernel's function does, from its first statement that is not about the work-item on.
std::string body(const std::string& statements, const Tags& tags = {{"i", "g.0"}},
                 Target target = Target::Cuda) {
  const std::string text = code(
      "kernel f(n: int32, m: int32, at: int32[n], x: float64[n], y: float64[n], z: float64[n], "
      "w: float64[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ntemp q: float64\n" +
          statements,
      target, tags);
  const std::size_t head = text.find(target == Target::Cuda ? "__global__" : "kernel void");
  const std::size_t from = text.find(") {\n", head) + 4;
  std::string out = text.substr(from, text.find("\n}\n", from) + 1 - from);
  if (out.find("int const i = ") != std::string::npos) out.erase(0, out.find('\n') + 1);
  return out;
}

}  // namespace

TEST_CASE("reads ahead: CUDA reads what comes after a quotient in front of it") {
  CHECK(body("q = x[i] / y[i]\nz[i] = q + w[i]\n") ==
        "  double const w_read = w[i];\n"
        "  double const q = quotient_f64(x[i], y[i]);\n"
        "  z[i] = q + w_read;\n");
  // of one statement, as it is evaluated; what was read before is in a register
  CHECK(body("z[i] = sqrt(x[i]) + y[i]*x[i]\n") ==
        "  double const y_read = y[i];\n"
        "  z[i] = sqrt(x[i]) + y_read*x[i];\n");
  CHECK(body("z[i] = x[i]*y[i] + fabs(w[i])\n") == "  z[i] = x[i]*y[i] + fabs(w[i]);\n");
  // an `if` is a branch; what is read in its own block has that block's beginning
  CHECK(body("z[i] = x[i] {if=m > 3}\nw[i] = y[i]\n") ==
        "  double const y_read = y[i];\n"
        "  if (m >= 4)\n"
        "    z[i] = x[i];\n"
        "  w[i] = y_read;\n");
  const std::string other =
      body("q = x[i] / y[i]\nz[i] = q + w[i]\n", {{"i", "g.0"}}, Target::OpenCL);
  CHECK(other.find("_read") == std::string::npos);
}

TEST_CASE("reads ahead: what may have another value, or is perhaps not read, stays") {
  const auto stays = [](const std::string& statements, const Tags& tags = {{"i", "g.0"}}) {
    const std::string text = body(statements, tags);
    INFO(text);
    CHECK(text.find("_read") == std::string::npos);
  };
  stays("w[i] = x[i] / y[i]\nz[i] = w[i]\n");                         // is written
  stays("q = x[i] / y[i]\nz[i] = q + (w[i] if q > 0 else 1)\n");      // in an arm
  stays("q = x[i] / y[i]\nz[i] = 1 if q > 0 and w[i] > 0 else 2\n");  // perhaps
  stays("q = x[i] / y[i]\nz[i] = w[at[0] if q > 0 else 0]\n");        // the subscript, too
  stays("at[i] = 0 {id=set}\nq = x[i] / y[i]\nz[i] = q + w[at[i]] {dep=set}\n");
  // after a loop, whose iterations the value would wait for
  stays("q = x[i] / y[i]\nz[i] = q + sum(j, j*1.0)\n w[i] = 1 {id=last}\n");
}

TEST_CASE("reads ahead: each straight part has its own") {
  // the read after the inner loop is in front of the root there, not in front of the loop
  const std::string text = body("z[i] = sqrt(sum(j, x[j] / y[j]*w[j])) + w[i]*y[i]\n");
  CHECK(text.find(
            "    double const w_read = w[j];\n    acc_j += quotient_f64(x[j], y[j])*w_read;\n") !=
        std::string::npos);
  const std::size_t end = text.find("  }\n");
  REQUIRE(end != std::string::npos);
  CHECK(text.substr(end + 4) ==
        "  double const w_read_0 = w[i];\n"
        "  double const y_read = y[i];\n"
        "  z[i] = sqrt(acc_j) + w_read_0*y_read;\n");
}
