#include "runtime/compare.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "tests/runtime/support.h"

using namespace moonloop;

namespace {

template <class T>
Buffer filled(Scalar type, const std::vector<T>& values) {
  Buffer b(Layout{"a", type, {static_cast<std::int64_t>(values.size())}, {1}, 0});
  std::memcpy(b.data(), values.data(), values.size() * sizeof(T));
  return b;
}
template <class T>
Comparison compared(Scalar type, const std::vector<T>& expected, const std::vector<T>& found,
                    double bound = 0, double factor = 1) {
  return compare(
      filled(type, expected), filled(type, found), [bound](const std::byte*) { return bound; },
      factor);
}

}  // namespace

TEST_CASE("compare: integers bit for bit, with the first difference and their number") {
  const std::vector<std::int32_t> x{1, 2, 3, 4}, y{1, 5, 3, 9};
  CHECK(compared(Scalar::I32, x, x).equal());
  const Comparison c = compared(Scalar::I32, x, y);
  CHECK(c.different == 2);
  CHECK(c.index == "[1]");
  CHECK(c.expected == "2");
  CHECK(c.found == "5");
  CHECK(c.elements == 4);
}

TEST_CASE("compare: reals to the bound of each element") {
  const std::vector<double> x{1, 2, 3};
  CHECK(compared(Scalar::F64, x, x).equal());
  CHECK_FALSE(compared(Scalar::F64, x, {1, std::nextafter(2, 3), 3}).equal());
  CHECK(compared(Scalar::F64, x, {1, 2.5, 3}, 0.5).equal());
  CHECK(compared(Scalar::F64, x, {1, 2.25, 3}, 0.5).largest == doctest::Approx(0.5));
  CHECK_FALSE(compared(Scalar::F64, x, {1, 2.51, 3}, 0.5).equal());
  CHECK(compared(Scalar::F64, x, {1, 2.51, 3}, 0.5, 2).equal());
  CHECK_FALSE(compared(Scalar::F64, x, {1, 2.25, 3}, 0.5, 0).equal());
  CHECK(compared<std::int32_t>(Scalar::I32, {4}, {5}, 1).equal());
  CHECK_FALSE(compared<std::int32_t>(Scalar::I32, {4}, {6}, 1).equal());
}

TEST_CASE("compare: an infinite bound leaves an element undecided, and says so") {
  const Comparison c =
      compared<double>(Scalar::F64, {1, 2}, {1, 700}, std::numeric_limits<double>::infinity());
  CHECK(c.equal());
  CHECK(c.undecided == 2);
}

TEST_CASE("compare: a large value hides no other element") {
  Buffer expected = filled<double>(Scalar::F64, {1e18, 1}),
         found = filled<double>(Scalar::F64, {1e18, 7});
  Bindings data;
  data.arrays["a"] = expected.view();
  ErrorBounds bounds;
  const Kernel k =
      parsed("kernel f(a: inout float64[2])\ndomain {[i]: 0 <= i < 2}\na[i] = a[i]*1.5/1.5\n");
  interpret(k, data, bounds);
  const Comparison c = compare(expected, found, bounds);
  CHECK(c.different == 1);
  CHECK(c.index == "[1]");
}

TEST_CASE("compare: NaN equals NaN, infinities equal themselves, zeros are equal") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(compared<double>(Scalar::F64, {nan, inf, -inf, 0.0}, {-nan, inf, -inf, -0.0}).equal());
  using Complex = std::complex<double>;
  CHECK(compared<Complex>(Scalar::C128, {{nan, 0}, {1, nan}}, {{nan, nan}, {nan, 2}}).equal());
  CHECK_FALSE(compared<Complex>(Scalar::C128, {{nan, 0}}, {{inf, 0}}).equal());
  CHECK_FALSE(compared<Complex>(Scalar::C128, {{1, 0}}, {{1, nan}}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {nan}, {1}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {1}, {nan}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {inf}, {-inf}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {1e308}, {inf}).equal());
  CHECK(compared<double>(Scalar::F64, {1e308, 1e308}, {1e308, 1e308}).equal());
}

TEST_CASE("compare: complex numbers count as one") {
  using Z = std::complex<double>;
  CHECK(compared<Z>(Scalar::C128, {Z(1, 1e-17)}, {Z(1, 0)}, 1e-16).equal());
  CHECK_FALSE(compared<Z>(Scalar::C128, {Z(1, 1)}, {Z(1, 1.001)}, 1e-16).equal());
  CHECK(compared<Z>(Scalar::C128, {Z(1, 1)}, {Z(1, 1.001)}).found == "1+1.001j");
}
