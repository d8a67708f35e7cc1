#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// How many loops are around the first line that has `part`: lines above it, each less indented.
int depth_of(const std::string& code, const std::string& part) {
  std::vector<std::string> lines;
  std::stringstream text(code.substr(0, code.find(part)));
  REQUIRE_MESSAGE(code.find(part) != std::string::npos, part, " in\n", code);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  int depth = 0;
  std::size_t indent = lines.back().find_first_not_of(' ');
  if (indent == std::string::npos) indent = lines.back().size();
  for (std::size_t i = lines.size() - 1; i-- > 0;) {
    const std::size_t own = lines[i].find_first_not_of(' ');
    if (own == std::string::npos || own >= indent) continue;
    indent = own;
    depth += lines[i].find("for (") != std::string::npos;
  }
  return depth;
}

std::string rownorm(const std::string& more, const std::string& tags = {}) {
  return "kernel rownorm(m: int32, n: int32, A: float64[m, n], B: float64[m, n], x: float64[n])\n"
         "domain {[i, j]: 0 <= i < m and 0 <= j < n" +
         tags + "}\n" + more;
}

}  // namespace

TEST_CASE("invariant reductions: a row's sum is computed once for the row") {
  const std::string text = rownorm("domain {[k]: 0 <= k < n}\nB[i, j] = A[i, j]/sum(k, A[i, k])\n");
  CHECK_GOLDEN("row_sum.c", code(text, Target::C));
  for (const Target t : {Target::C, Target::OpenMP})
    CHECK(depth_of(code(text, t), "acc_k +") == 2);  // i and k
  const std::string cuda = code(text, Target::Cuda, {{"i", "g.0"}});
  CHECK(depth_of(cuda, "acc_k +") == 1);
}

TEST_CASE("invariant reductions: one for the whole kernel leaves all loops, parallel ones too") {
  const std::string text =
      rownorm("domain {[k]: 0 <= k < n}\nassume m >= 1\nB[i, j] = A[i, j]/sum(k, x[k])\n");
  CHECK(depth_of(code(text, Target::C), "acc_k +") == 1);
  CHECK(depth_of(code(text, Target::OpenMP, {{"i", "par"}}), "acc_k +") == 1);
  CHECK(depth_of(code(text, Target::Cuda, {{"i", "g.0"}, {"j", "g.1"}}), "acc_k +") == 1);
}

TEST_CASE("invariant reductions: what the loop writes, bounds or asks keeps them in it") {
  const auto depth = [](const std::string& text) {
    return depth_of(code(text, Target::C), "acc_k +");
  };
  // The row changes while it is summed.
  CHECK(depth(rownorm("domain {[k]: 0 <= k < n}\nA[i, j] = A[i, j]/sum(k, A[i, k])\n")) == 3);
  // Bounds, values and conditions that need the loop.
  CHECK(depth(rownorm("domain {[k]: 0 <= k < j}\nB[i, j] = sum(k, A[i, k])\n")) == 3);
  CHECK(depth(rownorm("domain {[k]: 0 <= k < n}\nB[i, j] = sum(k, A[i, k]*x[j])\n")) == 3);
  CHECK(depth(rownorm(
            "domain {[k]: 0 <= k < n}\nif x[j] > 0.0\n  B[i, j] = sum(k, A[i, k])\nend\n")) == 3);
  // Pieces of one loop: how long the inner one is depends on the outer one.
  CHECK(depth_of(code("kernel f(n: int32, A: float64[n], B: float64[n])\n"
                      "domain {[i]: 0 <= i < n}\n"
                      "domain {[o, k]: 0 <= k < 4 and 0 <= 4*o + k < n}\n"
                      "B[i] = sum(o, sum(k, A[i]))\n",
                      Target::C),
                 "acc_k +") == 3);
  // The loop may be empty where the sum is not: its elements need not exist.
  CHECK(depth("kernel f(n: int32, m: int32, A: float64[n], B: float64[m])\n"
              "domain {[j]: 0 <= j < m}\ndomain {[k]: 0 <= k < n}\nB[j] = sum(k, A[k])\n") == 2);
  CHECK(depth("kernel f(n: int32, m: int32, A: float64[n], B: float64[m])\n"
              "domain {[j]: 0 <= j < m}\ndomain {[k]: 0 <= k < n}\nassume m >= 1\n"
              "B[j] = sum(k, A[k])\n") == 1);
}

TEST_CASE("invariant reductions: nested ones move together, or each as far as it can") {
  const std::string both = "domain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l < n}\n";
  const std::string c =
      code(rownorm(both + "B[i, j] = sum(k, A[i, k]*sum(l, A[i, l]))\n"), Target::C);
  CHECK(depth_of(c, "acc_k +") == 2);
  CHECK(depth_of(c, "acc_l +") == 2);  // it is one for all k
  const std::string d =
      code(rownorm(both + "B[i, j] = sum(k, A[i, k]*x[j]*sum(l, A[i, l]))\n"), Target::C);
  CHECK(depth_of(d, "acc_k +") == 3);
  CHECK(depth_of(d, "acc_l +") == 2);
}
