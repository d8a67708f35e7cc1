#include <random>

#include "core/order/check_kernel.h"
#include "tests/core/semantics_kit.h"

// Shapes, bounds and the interpreter's loops against plain enumeration of small cases.

using namespace kit;

namespace {

/// A kernel over i, j and the parameter n, with the meaning of its text as functions.
struct Case {
  std::string domain, guard, subscript;
  int c[6];  // bounds and coefficients
  bool triangular, strided, guarded;

  bool inside(int i, int j, int n) const {
    if (i < c[0] || i >= n + c[1]) return false;
    if (triangular ? (j < i || j >= n + 1) : (j < 0 || j >= 3)) return false;
    if (strided && ((i + 2 * j) % 3 + 3) % 3 != 1) return false;
    return !guarded || i + j >= c[5];
  }
  int index(int i, int j) const { return c[2] * i + c[3] * j + c[4]; }
};

Case random_case(std::mt19937& random) {
  const auto in = [&](int a, int b) {
    return a + static_cast<int>(random() % unsigned(b - a + 1));
  };
  Case k;
  for (int d = 0; d < 6; ++d) k.c[d] = 0;
  k.c[0] = in(0, 2), k.c[1] = in(-1, 2), k.c[2] = in(-1, 2), k.c[3] = in(-1, 2), k.c[4] = in(-2, 6);
  k.c[5] = in(0, 4);
  k.triangular = in(0, 1), k.strided = in(0, 3) == 0, k.guarded = in(0, 2) == 0;
  const auto s = [](int v) { return std::to_string(v); };
  k.domain = s(k.c[0]) + " <= i < n + " + s(k.c[1]) + " and " +
             (k.triangular ? "i <= j < n + 1" : "0 <= j < 3") +
             (k.strided ? " and (i + 2*j) mod 3 = 1" : "");
  k.subscript = s(k.c[2]) + "*i + " + s(k.c[3]) + "*j + " + s(k.c[4]);
  k.guard = "i + j >= " + s(k.c[5]);
  return k;
}

constexpr int kMost = 7;  // n = 1 … kMost

std::string text_of(const Case& c, const std::string& array) {
  const std::string head =
      "kernel f(n: int32, " + array + ")\ndomain {[i,j]: " + c.domain + "}\nassume n >= 1\n";
  const std::string body = "a[" + c.subscript + "] = a[" + c.subscript + "] + 1 {id=S}\n";
  return head + (c.guarded ? "if " + c.guard + "\n  " + body + "end\n" : body);
}

}  // namespace

TEST_CASE("random: the bounds check agrees with enumeration, in both directions") {
  std::mt19937 random(20240711);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 150; ++round) {
    const Case c = random_case(random);
    const int extent = static_cast<int>(random() % 12) + 1;
    const std::string text = text_of(c, "a: int32[n + " + std::to_string(extent) + "]");
    CAPTURE(text);
    bool leaves = false;
    for (int n = 1; n <= 40; ++n)  // beyond every constant in it
      for (int i = 0; i < n + 3; ++i)
        for (int j = 0; j < n + 3; ++j) {
          if (!c.inside(i, j, n)) continue;
          leaves |= c.index(i, j) < 0 || c.index(i, j) >= n + extent;
        }
    const std::string said = completing(text);
    CHECK((said.find("[out-of-bounds]") != std::string::npos) == leaves);
    if (said == "ok") {
      ++accepted;
    } else {
      ++refused;
    }
  }
  CHECK(accepted > 20);
  CHECK(refused > 20);
}

TEST_CASE("random: inferred shapes are exact, and the interpreter runs every instance once") {
  std::mt19937 random(7);
  int ran = 0;
  for (int round = 0; round < 150; ++round) {
    const Case c = random_case(random);
    const std::string text = text_of(c, "a");
    CAPTURE(text);
    Kernel k = parsed(text);
    for (Argument& a : k.args)
      if (a.name == "a") a.type = Scalar::I32;
    Kernel done;
    const std::string said = failure([&] { done = complete(k); });
    if (said != "ok") {
      CHECK(said.find("[negative-index]") != std::string::npos);
      continue;
    }
    for (int n = 1; n <= kMost; ++n) {
      std::vector<std::int32_t> expect;
      for (int i = 0; i < n + 3; ++i)
        for (int j = 0; j < n + 3; ++j) {
          if (!c.inside(i, j, n)) continue;
          const auto at = static_cast<std::size_t>(c.index(i, j));
          if (at >= expect.size()) expect.resize(at + 1, 0);
          ++expect[at];
        }
      if (expect.empty()) continue;  // the extent then does not matter
      std::vector<std::int32_t> a(expect.size(), 0);
      CAPTURE(n);
      CAPTURE(shape_in(done, "a"));
      const std::string run =
          failure([&] { Data().scalar("n", n).array("a", Scalar::I32, a).run(k); });
      CHECK(run == "ok");  // the shape is as large as needed, and no larger
      CHECK(a == expect);
      ++ran;
    }
  }
  CHECK(ran > 100);
}
