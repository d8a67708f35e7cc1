// Every function of the kernel language on every target that runs here.
#include <map>

#include "core/infer/typing.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;

namespace {

/// On ISPC also in the lanes of a gang.
void same_with_lanes(const std::string& text, const std::map<std::string, std::string>& tags) {
  test::same_everywhere(text, tags);
  test::run_on_ispc(test::tagged(text, {{"i", "simd"}}), parsed(text), {{"n", "70"}});
}

bool is_bessel(const std::string& name) { return name.starts_with("bessel_"); }

/// Arguments from `x`, `y` and `z` in the elements' range, that suit the function.
std::string arguments(const std::string& name, int count) {
  static const std::map<std::string, std::string> kOwn{
      {"acosh", "x + 1"},     {"acos", "x/2"},
      {"asin", "x/2"},        {"atanh", "x/2"},
      {"log", "x + 0.5f"},    {"log2", "x + 2"},
      {"log10", "x + 2"},     {"lgamma", "x + 2"},
      {"tgamma", "x + 1"},    {"rsqrt", "x + 1"},
      {"pow", "x + 1, y"},    {"floor", "9*x - 4"},
      {"ceil", "9*x - 4"},    {"round", "9*x - 4"},
      {"trunc", "9*x - 4"},   {"abs", "x - 0.5f"},
      {"fabs", "x - 0.5f"},   {"fmod", "5*x, y + 1"},
      {"clamp", "3*x, 1, 2"}, {"copysign", "x, y - 0.5f"},
      {"fdim", "x, y"}};
  if (const auto it = kOwn.find(name); it != kOwn.end()) return it->second;
  return count == 1 ? "x" : count == 3 ? "x, y, z" : "x, y";
}

/// With `x[i]` for `x`.
std::string subscripted(const std::string& use) {
  std::string out;
  for (const char c : use)
    out += c == 'x' || c == 'y' || c == 'z' ? std::string(1, c) + "[i]" : std::string(1, c);
  return out;
}

}  // namespace

TEST_CASE("functions: of real numbers, in both precisions, on all targets") {
  for (const std::string type : {"float32", "float64"}) {
    CAPTURE(type);
    std::string body;
    int number = 0, tests = 0;
    for (const std::string& name : function_names()) {
      const FnInfo* f = find_function(name);
      if (!f || is_bessel(name) || f->cls == FnClass::Integer) continue;
      const std::string use = name + "(" + subscripted(arguments(name, f->args)) + ")\n";
      if (f->cls == FnClass::Test)
        body += "d[i, " + std::to_string(tests++) + "] = " + use;
      else
        body += "c[i, " + std::to_string(number++) + "] = " + use;
    }
    CHECK(number > 40);
    CHECK(tests == 3);
    same_with_lanes("kernel f(n: int32, x: in " + type + "[n], y: in " + type + "[n], z: in " +
                        type + "[n], c: out " + type + "[n, " + std::to_string(number) +
                        "], d: out bool[n, " + std::to_string(tests) +
                        "])\ndomain {[i]: 0 <= i < n}\n" + body,
                    {{"i", "g.0"}});
  }
}

TEST_CASE("functions: of integers, on all targets") {
  for (const std::string type : {"int32", "int64"}) {
    CAPTURE(type);
    same_with_lanes("kernel f(n: int32, x: in " + type + "[n], y: in " + type + "[n], c: out " +
                        type + R"([n, 9])
domain {[i]: 0 <= i < n}
c[i, 0] = abs(x[i] - 3)
c[i, 1] = min(x[i], y[i] - 2)
c[i, 2] = max(x[i], y[i], 4)
c[i, 3] = truncdiv(x[i] - 5, y[i] + 1)
c[i, 4] = truncmod(x[i] - 5, y[i] + 1)
c[i, 5] = pow(x[i] - 2, 3)
c[i, 6] = minimum(x[i], 3) + maximum(y[i], 2)
c[i, 7] = clamp(x[i], 1, 4)
c[i, 8] = (x[i] - 3) // (y[i] + 1) + (x[i] - 3) % (y[i] + 2)
)",
                    {{"i", "g.0"}});
  }
}

TEST_CASE("functions: of integer literals stay integers among reals") {
  same_with_lanes(R"(kernel f(n: int32, x: float64[n], c: out float64[n, 5], d: out float32[n])
domain {[i]: 0 <= i < n}
c[i, 0] = truncmod(4, 7) + x[i]
c[i, 1] = truncdiv(-7, 2)*x[i]
c[i, 2] = x[i] if truncmod(-7, 4) == -3 else 0
c[i, 3] = x[i]*truncmod(truncdiv(29, 3), 4)
c[i, 4] = (5 << 2) + (12 ^ 5)*x[i]
d[i] = truncdiv(7, 2)
)",
                  {{"i", "g.0"}});
}

TEST_CASE("functions: of Bessel, where the library has them") {
  const std::string text = R"(
kernel f(n: int32, k: in int32[n], x: in float64[n], s: in float32[n], c: out float64[n, 4], d: out float32[n])
domain {[i]: 0 <= i < n}
c[i, 0] = bessel_jn(0, x[i])
c[i, 1] = bessel_jn(k[i] % 4, x[i] + 1)
c[i, 2] = 2*bessel_yn(1, 1 + x[i])
c[i, 3] = bessel_yn(k[i] % 3, 2)
d[i] = bessel_jn(2, s[i])
)";
  const Kernel k = parsed(text);
  for (const Target target : {Target::C, Target::OpenMP}) {
    RunRequest request;
    request.target = target;
    request.params = {{"n", "50"}};
    request.verify = true;
    CHECK(run_kernel(k, k, request).verification->equal());
  }
  try {
    generate(k, Target::OpenCL);
    FAIL("OpenCL has no such function");
  } catch (const Error& e) {
    CHECK(e.diagnostics().at(0).text ==
          "the function `bessel_jn` does not exist on target `opencl`");
  }
}
