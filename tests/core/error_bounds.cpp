#include "core/interpreter/error_bounds.h"

#include <cmath>
#include <limits>

#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

constexpr double kUnit = 0x1p-53, kInf = std::numeric_limits<double>::infinity();

/// A run on arrays of float64 (`x`, an input; `out`) and of int32 (`m`), with bounds.
struct Bounded {
  std::vector<double> x, out;
  std::vector<std::int32_t> m;
  ErrorBounds bounds;

  Bounded(const std::string& statements, std::vector<double> input, int size,
          const Accuracy& accuracy = {})
      : x(std::move(input)), out(static_cast<std::size_t>(size)), m(out.size()) {
    bounds.accuracy = accuracy;
    Bindings b;
    const auto add = [&](const char* name, Scalar type, void* data, std::size_t n) {
      b.arrays[name] = {type, {static_cast<std::int64_t>(n)}, {1}, data};
    };
    add("x", Scalar::F64, x.data(), x.size());
    add("out", Scalar::F64, out.data(), out.size());
    add("m", Scalar::I32, m.data(), m.size());
    interpret(parsed(fmt::format("kernel f(x: in float64[{}], out: inout float64[{}], "
                                 "m: inout int32[{}])\n{}",
                                 x.size(), size, size, statements)),
              b, bounds);
  }
  double of(int i) const { return bounds.of("out", &out[static_cast<std::size_t>(i)]); }
  double of_m(int i) const { return bounds.of("m", &m[static_cast<std::size_t>(i)]); }
};

Bounded one(const std::string& value, std::vector<double> x, const Accuracy& accuracy = {}) {
  return Bounded("domain {[i]: 0 <= i < 1}\nout[i] = " + value + "\n", std::move(x), 1, accuracy);
}

const char* const kTenth =
    "domain {[j]: 0 <= j < 10}\n<> s = sum(j, x[j])   {id=add}\n";  // 1 or a little less
const std::vector<double> kTenths(10, 0.1);

}  // namespace

TEST_CASE("error bounds: copies and single operations on exact operands are exact") {
  for (const char* e : {"x[0]", "-x[0]", "x[0] + x[1]", "x[0]/x[1]", "abs(x[0])", "sqrt(x[0])",
                        "x[0] + x[1] + x[2]", "max(x[0], x[1])", "floor(x[0])", "2.0",
                        "x[0] if x[1] < x[2] else x[1]"}) {
    CAPTURE(e);
    CHECK(one(e, {0.3, 0.7, 1.1}).of(0) == 0);
  }
}

TEST_CASE("error bounds: a product may stay unrounded where operations are contracted") {
  const Bounded b = one("x[0]*x[1]", {0.3, 0.7});
  CHECK(b.of(0) == kUnit * b.out[0]);
  CHECK(one("x[0]*x[1]", {0.3, 0.7}, {.contract = false}).of(0) == 0);
  const Bounded sum = one("x[0]*x[1] + x[2]", {0.3, 0.7, 1});
  CHECK(sum.of(0) == doctest::Approx(kUnit * 0.21 + 2 * kUnit * 1.21));
  CHECK(one("x[0]*x[1] + x[2]", {0.3, 0.7, 1}, {.contract = false}).of(0) == 0);
}

TEST_CASE("error bounds: a division by way of the reciprocal is rounded twice") {
  int apart = 0;
  for (int i = 1; i < 200; ++i) {
    const double x = 0.3 + i, y = 0.7 * i + 1 / 3.0;
    const Bounded b = one("x[0]/x[1]", {x, y}, {.reciprocals = true});
    CHECK(b.of(0) == doctest::Approx(3 * kUnit * b.out[0]));
    const double inverse = 1 / y;
    CHECK(std::fabs(x * inverse - b.out[0]) <= b.of(0));
    apart += x * inverse != b.out[0];
    const std::string inexact = "(x[0] + x[1] + x[2]*x[3])/x[1]";
    CHECK(one(inexact, {x, y, x, y}, {.reciprocals = true}).of(0) >
          one(inexact, {x, y, x, y}).of(0) + kUnit * b.out[0]);
  }
  CHECK(apart > 10);
}

TEST_CASE("error bounds: sums in any order, measured by their own terms") {
  const std::string reduction = "domain {[i, j]: 0 <= i < 2 and 0 <= j < 4}\n";
  for (const std::string& s : {reduction + "out[i] = sum(j, x[4*i + j])\n",
                               reduction + "for j\nout[i] = out[i] + x[4*i + j]\nend\n"}) {
    const Bounded b(s, {1e18, 1, 1, 1, 0.25, -0.5, 0.25, 1}, 2, {.contract = false});
    CHECK(b.of(0) == doctest::Approx(2 * 3 * kUnit * 1e18));
    CHECK(b.of(1) == doctest::Approx(2 * 3 * kUnit * 2));  // the large element does not count
  }
  CHECK(
      Bounded(reduction + "out[i] = max(j, x[4*i + j])\n", std::vector<double>(8, 0.1), 2).of(0) ==
      0);
  const Bounded product(reduction + "out[i] = product(j, x[4*i + j])\n",
                        std::vector<double>(8, 1.1), 2, {.contract = false});
  CHECK(product.of(0) > 2 * kUnit * product.out[0]);
  CHECK(product.of(0) < 20 * kUnit * product.out[0]);
}

TEST_CASE("error bounds: factors of updates come in any order") {
  const std::string loops = "domain {[i, j]: 0 <= i < 2 and 0 <= j < 4}\n";
  const std::vector<double> x(8, 1.1);
  const auto after = [&](const std::string& update, const char* options) {
    return Bounded(loops + "domain {[k]: 0 <= k < 2}\nout[k] = 1.5 {id=set}\nfor j\n" + update +
                       "  {dep=set" + options + "}\nend\n",
                   x, 2, {.contract = false});
  };
  for (const char* update :
       {"out[i] = out[i]*x[4*i + j]", "out[i] = x[4*i + j]*out[i]", "out[i] = out[i]/x[4*i + j]"})
    for (const char* options : {"", ", atomic"}) {
      CAPTURE(update);
      CAPTURE(options);
      const Bounded b = after(update, options);
      CHECK(b.of(0) > 2 * kUnit * b.out[0]);
      CHECK(b.of(0) < 20 * kUnit * b.out[0]);
    }
  // One update of each place is one operation, and a recurrence is not an update.
  CHECK(after("out[2*i + j] = out[2*i + j]*x[i]", ", if=j < 2 and i == 0").of(0) == 0);
  CHECK(after("out[i] = out[1 - i]*x[4*i + j]", "").of(0) == 0);
  const Bounded two = after("out[i] = 0.5*(out[i]*x[4*i + j])", ", atomic");
  CHECK(two.of(0) > 8 * kUnit * two.out[0]);
  CHECK(after("out[i] = max(out[i], x[4*i + j])", ", atomic").of(0) == 0);
}

TEST_CASE("error bounds: an open condition reaches the other value, a decided one nothing") {
  const std::string rest =
      "domain {[i]: 0 <= i < 2}\nout[i] = 7.0 if s < 1.0 - 0.5*i else 1.0\n"
      "m[i] = 5 if s < 1.0 - 0.5*i else 2\n";
  const Bounded b(kTenth + rest, kTenths, 2);
  CHECK(b.of(0) == 6);
  CHECK(b.of(1) == 0);
  CHECK(b.of_m(0) == 3);
  CHECK(b.of_m(1) == 0);
}

TEST_CASE("error bounds: an open predicate reaches the value with and without the statement") {
  const std::string rest =
      "domain {[i]: 0 <= i < 3}\nout[i] = 4.0   {id=first}\n"
      "if s >= 1.0 - 0.5*i\nout[i] = 6.0   {dep=first}\nend\n";
  const Bounded b(kTenth + rest, kTenths, 3);
  CHECK(b.of(0) == 2);
  CHECK(b.of(1) == 0);
  CHECK(b.out[1] == 6);
}

TEST_CASE("error bounds: casts and floors are exact unless the bound reaches over a step") {
  const std::string rest =
      "domain {[i]: 0 <= i < 2}\nm[i] = cast(int32, s*(1 + 0.5*i))\nout[i] = floor(s + 0.5*i)\n";
  const Bounded b(kTenth + rest, kTenths, 2);
  CHECK(b.of_m(0) == 1);
  CHECK(b.of_m(1) == 0);
  CHECK(b.of(0) == 1);
  CHECK(b.of(1) == 0);
}

TEST_CASE("error bounds: a cast of what the integer type does not have is undecided") {
  const auto cast_of = [](const std::string& e) {
    CAPTURE(e);
    const Bounded b("domain {[i]: 1 <= i < 2}\nm[0] = " + e + "\n", {0, 2147483647, -1, 1e10}, 1);
    return b.of_m(0);
  };
  CHECK(cast_of("x[1]") == 0);
  CHECK(cast_of("x[1] + 0.5") == 0);
  CHECK(cast_of("x[1] + 1") == kInf);
  CHECK(cast_of("-x[1] - 1.5") == 0);
  CHECK(cast_of("-x[1] - 2") == kInf);
  CHECK(cast_of("x[3]") == kInf);
  CHECK(cast_of("x[0]/x[0]") == kInf);
  CHECK(cast_of("cast(uint8, x[2])") == kInf);
  CHECK(cast_of("cast(uint8, x[2] + 0.5)") == 0);
  CHECK(cast_of("cast(bool, x[3])") == 0);
  // float64, by the rules for uint64 and signed types
  CHECK(cast_of("cast(uint64, 3000000000) + i") == kInf);
  CHECK(cast_of("cast(uint64, 30) + i") == 0);
  CHECK(cast_of("cast(uint64, 3000000000) + 1") == 0);  // the low bits
}

TEST_CASE(
    "error bounds: a store at an open subscript leaves the elements undecided that it may hit") {
  const std::string rest =
      "domain {[i]: 0 <= i < 1}\n<> at = cast(int32, 2*s)\nout[at] = 1.0\n"
      "<> far = cast(int32, 4.5*s)\nm[far] = 3\n";
  const Bounded b(kTenth + rest, kTenths, 6);
  CHECK(b.of(3) == 0);
  CHECK(b.of(1) == kInf);
  CHECK(b.of(2) == kInf);
  CHECK(b.of(4) == 0);
  CHECK(b.of_m(4) == 0);
  CHECK(b.m[4] == 3);
}

TEST_CASE("error bounds: open bounds of a loop leave what it writes undecided, and only that") {
  const std::string rest =
      "<> n = cast(int32, 2*s)\ndomain {[i]: 0 <= i < n}\nout[i] = 1.0\n"
      "domain {[k]: 0 <= k < 2}\nm[k] = k\n";
  const Bounded b(kTenth + rest, kTenths, 3);
  CHECK(b.of(0) == kInf);
  CHECK(b.of_m(0) == 0);
}

TEST_CASE("error bounds: NaN and infinities that exact operands make are exact") {
  CHECK(one("x[0]/x[1]", {1, 0}).of(0) == 0);
  CHECK(one("x[0]/x[1]", {0, 0}).of(0) == 0);
  CHECK(one("x[0]*x[1] + x[2]", {0.3, 0.7, kInf}).of(0) == 0);
  CHECK(one("sqrt(x[0]*x[1] - x[2])", {0.3, 0.7, 0.3 * 0.7}).of(0) == kInf);  // NaN, or not
  CHECK(one("x[2]/(x[0]*x[1] - x[2])", {0.3, 0.7, 0.3 * 0.7}).of(0) == kInf);
}

TEST_CASE("error bounds: functions as their libraries promise, looser on devices") {
  const Bounded host = one("tan(x[0])", {1}), device = one("tan(x[0])", {1}, {.device = true});
  CHECK(host.of(0) > 0);
  CHECK(host.of(0) < 8 * kUnit);
  CHECK(device.of(0) > host.of(0));
  CHECK(device.of(0) < 20 * kUnit);
  const Bounded vectors = one("exp(x[0])", {0.3});  // glibc has a function for vectors, of 4 ulps
  CHECK(vectors.of(0) > 8 * kUnit);
  CHECK(vectors.of(0) < 16 * kUnit);
}

TEST_CASE("error bounds: the same formula in single and in double precision stays within them") {
  const char* const formulas[] = {"x[i]*x[i+1] + x[i+2]",
                                  "(x[i] - x[i+1])/(x[i+2] + 0.25f*x[i])",
                                  "sqrt(abs(x[i]*x[i+1] - x[i+2]))",
                                  "exp(x[i]*x[i+1]) - 1",
                                  "sin(3*x[i] + x[i+1])*cos(x[i+2]*x[i])",
                                  "log(1 + x[i]*x[i+1])",
                                  "(x[i]*x[i+1])**3 + x[i+2]**2",
                                  "tan(x[i]*x[i+1]) + atan2(x[i]*x[i+1], x[i+2])",
                                  "min(x[i]*x[i+1], x[i+2]*x[i+2])",
                                  "sum(j, x[i+j]*x[i+j+1])",
                                  "product(j, x[i+j]*x[i+j+1])"};
  for (const std::string f : formulas) {
    CAPTURE(f);
    const int n = 40;
    std::vector<float> x(n + 8), y(n);
    std::vector<double> wide(n + 8), exact(n);
    std::uint64_t state = 7;
    for (std::size_t i = 0; i < x.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x[i] = static_cast<float>(state >> 40) * 0x1p-24f;
      wide[i] = x[i];
    }
    const auto text = [&](const char* type) {
      return fmt::format(
          "kernel f(x: in {0}[48], y: out {0}[40])\n"
          "domain {{[i, j]: 0 <= i < 40 and 0 <= j < 6}}\ny[i] = {1}\n",
          type, f);
    };
    Bindings single, twice;
    single.arrays["x"] = {Scalar::F32, {n + 8}, {1}, x.data()};
    single.arrays["y"] = {Scalar::F32, {n}, {1}, y.data()};
    twice.arrays["x"] = {Scalar::F64, {n + 8}, {1}, wide.data()};
    twice.arrays["y"] = {Scalar::F64, {n}, {1}, exact.data()};
    ErrorBounds bounds;
    // The exact result is as far as another execution may be, but for a last rounding.
    interpret(parsed(text("float32")), single, bounds);
    interpret(parsed(text("float64")), twice);
    double largest = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double e = bounds.of("y", &y[i]) + 0x1p-24 * std::fabs(y[i]);
      CAPTURE(i);
      CHECK(std::fabs(y[i] - exact[i]) <= e);
      largest = std::max(largest, e / std::fabs(y[i]));
    }
    CHECK(largest < 1e-2);  // and they say something
  }
}

TEST_CASE("error bounds: scalars and records have bounds of their own") {
  const Bounded b("domain {[i]: 0 <= i < 2}\n<> t = x[i]*x[i+2]\nout[i] = t\n", {0.3, 1, 0.7, 0.9},
                  2);
  CHECK(b.of(0) == kUnit * b.out[0]);
  CHECK(b.of(1) == 0);  // times one
}

TEST_CASE("error bounds: sums of float16 round at each step, in any order") {
  std::vector<std::uint16_t> x{0x3c00, 0x3001, 0x3001}, out{0};  // 1, and an eighth and a bit
  Bindings b;
  b.arrays["x"] = {Scalar::F16, {3}, {1}, x.data()};
  b.arrays["out"] = {Scalar::F16, {1}, {1}, out.data()};
  ErrorBounds bounds;
  bounds.accuracy.contract = false;
  interpret(parsed("kernel f(x: in float16[3], out: inout float16[1])\n"
                   "domain {[j]: 0 <= j < 3}\nout[0] = out[0] + x[j]\n"),
            b, bounds);
  CHECK(bounds.of("out", out.data()) >= 4 * 0x1p-11 * 1.25);
  CHECK(bounds.of("out", out.data()) < 8 * 0x1p-11 * 1.25);
}

TEST_CASE("error bounds: sums that may be added term by term to what they are added to") {
  const std::vector<double> tenths(1000, 0.1);
  const double large = 0x1p60;  // each of the terms is less than half a unit of it
  for (const char* last :
       {"out[0] = out[0] - s", "out[0] = (out[0] - s)/2", "out[0] = s + out[0]"}) {
    const std::string text = fmt::format(
        "domain {{[j]: 0 <= j < 1000}}\nout[0] = {}.0  {{id=first}}\n"
        "{}  {{id=last, dep=first}}\n",
        std::int64_t{1} << 60,
        std::string(last).replace(std::string(last).find("s"), 1, "sum(j, x[j])"));
    CAPTURE(text);
    const double folded = Bounded(text, tenths, 1, {.contract = false}).of(0);
    const Bounded b(text, tenths, 1, {.contract = false, .unfolded = true});
    CHECK(b.of(0) >= std::abs(b.out[0]) * 1000 * kUnit);
    CHECK(b.of(0) > 100 * folded);
    CHECK(b.of(0) < 1e-9 * large);
  }
  // Other sums have the bounds that they had.
  const std::string plain = "domain {[j]: 0 <= j < 1000}\nout[0] = sum(j, x[j])\n";
  CHECK(Bounded(plain, tenths, 1, {.unfolded = true}).of(0) == Bounded(plain, tenths, 1).of(0));
}
