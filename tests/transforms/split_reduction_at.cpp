#include "transforms/split_reduction_at.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

Kernel cut_sum(const Kernel& k, const std::string& iname, const std::string& at,
               const std::string& from = {}) {
  return split_reduction_at(k, iname, at, from, {});
}
Kernel rows(const std::string& statements) {
  return parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n], b: float64[n], c: float64[n], q: int32[n], "
      "g: bool[n], h: int16[n], w: int64[n])\n"
      "domain {[i, j]: 0 <= j <= i < n}\ndomain {[k]: 0 <= k < n}\n"
      "domain {[l]: k <= l < n}\ndomain {[p]: 0 <= p < n}\n" +
      statements);
}

}  // namespace

TEST_CASE("split_reduction_at: two reductions, put together by the operation") {
  const Kernel k = rows("c[i] = 2*sum(k, a[i, k]) + b[i] {id=w, inames=i}\n");
  const Kernel out = cut_sum(k, "k", "i", "behind");
  CHECK(line(out, "w") == "c[i] = 2*(sum(k_0, a[i, k_0]) + sum(behind, a[i, behind])) + b[i]");
  CHECK(!cut_sum(rows("c[i] = sum(p, b[p]) {inames=i}\n"), "p", "i").has_iname("p"));
  CHECK(out.reference == nullptr);
  for (const int n : {1, 2, 7}) CHECK(same_values(k, out, {{"n", n}, {"m", 3}}));
}

TEST_CASE("split_reduction_at: among sums, both parts are terms of the addition") {
  const Kernel k = rows("c[i] = 2*(sum(p, b[p]) + sum(k, a[i, k])) + b[i] {id=w, inames=i}\n");
  const Kernel out = cut_sum(k, "k", "i", "behind");
  CHECK(line(out, "w") ==
        "c[i] = 2*(sum(p, b[p]) + sum(k_0, a[i, k_0]) + sum(behind, a[i, behind])) + b[i]");
  for (const int n : {1, 2, 7}) CHECK(same_values(k, out, {{"n", n}, {"m", 3}}));
}

TEST_CASE("split_reduction_at: each operation, at places within and outside") {
  for (const char* statement :
       {"c[i] = sum(k, a[i, k])", "c[i] = product(k, a[i, k] + 0.5)", "c[i] = min(k, a[i, k])",
        "c[i] = max(k, a[i, k])", "g[i] = any(k, a[i, k] > 0.9)", "g[i] = all(k, a[i, k] > 0.1)",
        "w[i] = sum(k, h[k])", "c[i] = sum(j, a[i, j])", "c[i] = sum(k, a[i, k]*max(l, a[l, i]))",
        "c[i] = (sum(k, a[i, k]) if i > 1 else max(p, b[p]))"}) {
    CAPTURE(statement);
    const Kernel k = rows(std::string(statement) + " {inames=i}\n");
    const std::string iname = std::string(statement).find("(j") != std::string::npos ? "j" : "k";
    for (const char* at : {"i", "3", "n - i", "2*i - m", "-1", "n", "i // 2"}) {
      CAPTURE(at);
      const Kernel out = cut_sum(k, iname, at);
      for (const int n : {1, 5}) CHECK(same_values(k, out, {{"n", n}, {"m", 2}}));
    }
  }
}

TEST_CASE("split_reduction_at: a reduction within another one of the same domain") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j, v]: 0 <= j <= v < n and v <= j + 2}\n"
      "c[i] = sum(j, a[i, j]*sum(v, a[j, v])) {inames=i}\n");
  for (const char* at : {"i", "3", "m - i"})
    for (const int n : {1, 2, 7}) CHECK(same_values(k, cut_sum(k, "v", at), {{"n", n}, {"m", 3}}));
}

TEST_CASE("split_reduction_at: rules are expanded, and steps before it count") {
  const Kernel k = rows("f(x) := sum(k, a[x, k])\nc[i] = 1 + f(n - 1 - i) {id=w, inames=i}\n");
  Kernel out = apply(k, "split_iname", {text("i"), number(4)});
  out = cut_sum(out, "k", "4*i_outer");
  CHECK(same_values(k, out, {{"n", 7}, {"m", 2}}));
  // A part that does not depend on the inner loop is one of the outer loop alone.
  const Kernel prefix = parsed(
      "kernel p(n: int32, x: float64[n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\ny[i] = sum(j, x[j])\n");
  out = cut_sum(apply(prefix, "split_iname", {text("i"), number(4)}), "j", "4*i_outer");
  CHECK(same_set(instances(out, {"i_outer", "j_0"}),
                 "[n] -> { [i_outer, j_0] : 0 <= 4i_outer < n and 0 <= j_0 < 4i_outer }"));
  CHECK(same_values(prefix, out, {{"n", 10}}));
}

TEST_CASE("split_reduction_at: what it refuses") {
  const auto code = [](const std::string& statements, const std::string& iname,
                       const std::string& at) {
    return code_of([&] { cut_sum(rows(statements), iname, at); });
  };
  const std::string sum = "c[i] = sum(k, a[i, k]) {inames=i}\n";
  CHECK(code(sum, "z", "1") == "unknown-iname");
  CHECK(code(sum, "i", "1") == "not-a-reduction-loop");
  CHECK(code(sum + "b[k] = 1 {inames=k}\n", "k", "1") == "not-a-reduction-loop");
  CHECK(code("c[i] = sum((k, l), a[k, l]) {inames=i}\n", "k", "1") == "not-a-reduction-loop");
  CHECK(code(sum, "l", "1") == "no-reduction");
  CHECK(code("c[i], q[i] = argmin(k, a[i, k], k) {inames=i}\n", "k", "1") == "two-valued");
  CHECK(code(sum, "k", "l") == "bad-place");
  CHECK(code(sum, "k", "i*i") == "bad-place");
  CHECK(code(sum, "k", "q[0]") == "bad-place");
  Kernel tagged = rows(sum);
  tagged.iname_tags["k"] = *parse_iname_tag("simd");
  CHECK(code_of([&] { cut_sum(tagged, "k", "1"); }) == "tagged-iname");
  CHECK_THROWS(cut_sum(rows(sum), "k", "1", "i"));
}
