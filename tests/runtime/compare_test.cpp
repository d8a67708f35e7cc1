#include "runtime/compare.h"

#include <cmath>
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
                    double factor = kToleranceFactor, double depth = 1) {
  return compare(filled(type, expected), filled(type, found), factor, depth);
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

TEST_CASE("compare: reals to rounding, growing with the depth") {
  const double eps = std::numeric_limits<double>::epsilon();
  const std::vector<double> x{1, 2, 3};
  CHECK(compared(Scalar::F64, x, {1, 2 * (1 + 20 * eps), 3}).equal());
  CHECK_FALSE(compared(Scalar::F64, x, {1, 2 * (1 + 200 * eps), 3}).equal());
  CHECK(compared(Scalar::F64, x, {1, 2 * (1 + 200 * eps), 3}, kToleranceFactor, 100).equal());
  CHECK_FALSE(compared(Scalar::F64, x, {1, 2 * (1 + eps), 3}, 0).equal());
  CHECK(compared(Scalar::F64, x, x, 0).equal());
  CHECK(compared(Scalar::F64, x, {1, 2.001, 3}).different == 1);
  // An element that cancellation made small is measured by its array.
  CHECK(compared<double>(Scalar::F64, {1, 1e-20}, {1, 3e-16}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {0, 0}, {0, 1e-300}).equal());
  CHECK_FALSE(compared<float>(Scalar::F32, {1, 2}, {1, 2.001f}).equal());
  CHECK(compared<float>(Scalar::F32, {1, 2}, {1, 2.000001f}).equal());
}

TEST_CASE("compare: NaN equals NaN, infinities equal themselves, zeros are equal") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(compared<double>(Scalar::F64, {nan, inf, -inf, 0.0}, {-nan, inf, -inf, -0.0}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {nan}, {1}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {1}, {nan}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {inf}, {-inf}).equal());
  CHECK_FALSE(compared<double>(Scalar::F64, {1e308}, {inf}).equal());
  CHECK(compared<double>(Scalar::F64, {1e308, 1e308}, {1e308, 1e308}).equal());
}

TEST_CASE("compare: complex numbers count as one") {
  using Z = std::complex<double>;
  CHECK(compared<Z>(Scalar::C128, {Z(1, 1e-17)}, {Z(1, 0)}).equal());
  CHECK_FALSE(compared<Z>(Scalar::C128, {Z(1, 1)}, {Z(1, 1.001)}).equal());
  CHECK(compared<Z>(Scalar::C128, {Z(1, 1)}, {Z(1, 1.001)}).found == "1+1.001j");
}
