#include "runtime/count.h"

#include "core/model/domain.h"
#include "core/order/check_kernel.h"
#include "runtime/points.h"
#include "tests/runtime/support.h"

using namespace moonloop;

namespace {

std::optional<std::int64_t> points(const std::string& set, const Integers& values = {}) {
  return count_points(parse_set(set), values);
}
Work work(const std::string& text, const Integers& values) {
  const auto w = count_work(complete(parsed(text)), values);
  REQUIRE(w.has_value());
  return *w;
}
/// By enumeration.
std::int64_t counted(const std::string& set) {
  const Set s = parse_set(set);
  std::int64_t n = 0;
  isl_set_foreach_point(
      s.get(),
      [](isl_point* p, void* user) -> isl_stat {
        isl_point_free(p);
        ++*static_cast<std::int64_t*>(user);
        return isl_stat_ok;
      },
      &n);
  return n;
}

}  // namespace

TEST_CASE("points: boxes, triangles, strides, unions") {
  CHECK(points("[n] -> {[i, j, k]: 0 <= i, j, k < n}", {{"n", 1024}}) == std::int64_t{1} << 30);
  CHECK(points("[n] -> {[i, j]: 0 <= j <= i < n}", {{"n", 1000}}) == 500500);
  CHECK(points("[n] -> {[i, j, k]: 0 <= k <= j <= i < n}", {{"n", 300}}) == 300LL * 301 * 302 / 6);
  CHECK(points("[n] -> {[i]: 0 <= i < n and i mod 3 = 1}", {{"n", 10}}) == 3);
  CHECK(points("[n] -> {[i]: 0 <= i < n and i mod 3 = 1}", {{"n", 3000000}}) == 1000000);
  CHECK(points("[n] -> {[i]: 0 <= i < n or 5 <= i < 2*n}", {{"n", 10}}) == 20);
  CHECK(points("[n] -> {[i]: 0 <= i < n}", {{"n", 0}}) == 0);
  CHECK(points("[n] -> {[i]: 0 <= i < n}", {{"n", -5}}) == 0);
  CHECK(points("{[i, j]: 0 <= i < 1 and 5 <= j < 5}") == 0);
  CHECK(points("{[]}") == 1);
}

TEST_CASE("points: nothing where there is no number") {
  CHECK_FALSE(points("{[i]: i >= 0}").has_value());
  CHECK_FALSE(points("[n] -> {[i]: 0 <= i < n}").has_value());
  CHECK_FALSE(
      points("[n] -> {[i, j, k]: 0 <= i, j, k < n}", {{"n", std::int64_t{1} << 40}}).has_value());
  CHECK_FALSE(
      count_points(parse_set("{[i, j, k]: 0 <= i <= j <= k < 4000}"), {}, 1000).has_value());
}

TEST_CASE("points: as enumeration has it, for sets of all kinds") {
  for (const char* set :
       {"{[i, j]: 0 <= i < 9 and 2*i - 3 <= 3*j <= i + 7}",
        "{[i, j]: 0 <= i, j < 12 and (i + j) mod 4 = 2}",
        "{[i, j, k]: 0 <= i < 7 and i <= j < 9 and j - i <= k <= i + j}",
        "{[i, j]: 0 <= i < 20 and j = floor(i/3)}", "{[i]: exists e: i = 3*e and 0 <= e <= 6}",
        "{[i, j]: 0 <= i, j < 10 and 3*i + 5*j <= 40}", "{[i, j]: i = 2*j and 0 <= i < 15}",
        "{[i, j]: 0 <= i < 10 and (j = i or j = 2*i or 0 <= j < 3)}",
        "{[i, j]: exists a, b: i = 2*a + 3*b and 0 <= a, b < 4 and 0 <= j < i}"}) {
    CAPTURE(set);
    CHECK(points(set) == counted(set));
  }
}

TEST_CASE("work: a matrix product") {
  const Work w =
      work(R"(kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)",
           {{"n", 1024}});
  CHECK(w.flops == std::int64_t{2} << 30);
  CHECK(w.bytes_read == 2 * 8 << 20);
  CHECK(w.bytes_written == 8 << 20);
  CHECK(w.integer_ops == 0);
  CHECK(w.exact);
}

TEST_CASE("work: guards, footprints, kinds of operations") {
  const Work w =
      work(R"(kernel diff(n: int32, u: float32[n+1], r: float32[n], h: int64[n], z: complex64[n])
domain {[i]: 0 <= i < n}
r[i] = (u[i+1] - u[i])/2 {if=i % 2 == 0}
h[i] = 2*i + 1
z[i] = z[i]*z[i] + 1
)",
           {{"n", 10}});
  CHECK(w.flops == 5 * 2 + 10 * (6 + 2));
  CHECK(w.integer_ops == 10 * 2);
  CHECK(w.instances == 25);
  CHECK(w.bytes_read == 10 * 4 + 10 * 8);  // u[0 … 9], z
  CHECK(w.bytes_written == 5 * 4 + 10 * 8 + 10 * 8);
  CHECK(w.exact);
}

TEST_CASE("work: what depends on data is an upper bound, or unknown") {
  const Work w =
      work(R"(kernel gather(n: int32, m: int32, x: float64[m], at: int32[n], y: float64[n])
domain {[i]: 0 <= i < n}
y[i] = x[at[i]] + 1 {if=at[i] > 3}
)",
           {{"n", 10}, {"m", 100}});
  CHECK_FALSE(w.exact);
  CHECK(w.flops == 10);
  CHECK(w.bytes_read == 100 * 8 + 10 * 4);
}
