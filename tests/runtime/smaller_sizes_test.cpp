#include "runtime/smaller_sizes.h"

#include "tests/runtime/support.h"

using namespace moonloop;

namespace {

GivenValues smaller(const std::string& assumption, const GivenValues& given, double most) {
  const Kernel k = parsed(
      "kernel add(n: int32, m: int32, a: float64[n, m])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n" +
      assumption + "a[i, j] = a[i, j] + 1\n");
  return smaller_sizes(k, k, given, most);
}

}  // namespace

TEST_CASE("smaller sizes: halved together until the interpreter has little to do") {
  CHECK(smaller("", {{"n", "1000"}, {"m", "8"}}, 1000) == GivenValues{{"n", "125"}, {"m", "8"}});
  CHECK(smaller("", {{"n", "100"}, {"m", "200"}}, 1250) == GivenValues{{"n", "25"}, {"m", "50"}});
  CHECK(smaller("", {{"n", "30"}, {"m", "30"}}, 900) == GivenValues{{"n", "30"}, {"m", "30"}});
  CHECK(smaller("", {{"n", "64"}, {"m", "64"}}, 1) == GivenValues{{"n", "16"}, {"m", "16"}});
}

TEST_CASE("smaller sizes: what a kernel assumes still holds") {
  CHECK(smaller("assume n >= 200\n", {{"n", "1000"}, {"m", "8"}}, 1000) ==
        GivenValues{{"n", "250"}, {"m", "8"}});
  CHECK(smaller("assume n >= 1000\n", {{"n", "1000"}, {"m", "8"}}, 1000) ==
        GivenValues{{"n", "1000"}, {"m", "8"}});
}
