#include "cost/guard.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/expr/parse_expr.h"
#include "tests/cost/kit.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::cost;  // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kGuardProduct = R"(
kernel product(n: int32, m: int32, l: int32, a: in float64[n, l], b: in float64[l, m], c: out float64[n, m])
domain {[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}
assume n >= 1 and m >= 1 and l >= 1
c[i, j] = sum(k, a[i, k]*b[k, j])
)";
const char* const kGuardTriangle = R"(
kernel triangle(n: int32, m: int32, x: in float64[n, m], y: inout float64[n, n])
domain {[i, j, k]: 0 <= j <= i < n and 0 <= k < m}
assume n >= 1 and m >= 1
y[i, j] = sum(k, x[i, k]*x[j, k])
)";
const char* const kGuardStrided = R"(
kernel strided(n: int32, m: int32, x: in float32[2*n, m], y: inout float32[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
y[i, j] = y[i, j] + x[2*i, j]
)";
const char* const kGuardSquare = R"(
kernel square(n: int32, a: in float32[n, n], b: in float32[n, n], c: out float32[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

Kernel on_grid(Kernel k) { return split(split(k, "i", 16, "g.1", "l.1"), "j", 16, "g.0", "l.0"); }

/// How well the guard does at sizes that it was not made from.
struct Agreement {
  int sizes = 0, differ = 0, on_device = 0;
  double worst = 1, mean = 1;  // of what the choice takes, by what the best one takes
};

Agreement agreement(const std::string& text, Guard* made = nullptr) {
  const Kernel k = kernel(text);
  const Work host = work_of(k, Target::C), device = work_of(on_grid(k), Target::Cuda);
  const MachineProfile cpu = host_profile(), gpu = gpu_profile();
  const GuardedVersion here{host, cpu}, there{device, gpu};
  const Guard guard = fit_guard(here, there, k.assumptions);
  Agreement out;
  double logs = 0;
  for (const Integers& values : guard_sizes(here, there, k.assumptions, {}, 300, 5)) {
    const double h = predict(host, values, cpu).seconds, d = predict(device, values, gpu).seconds;
    const bool chosen = guard.prefers_device(values);
    const double penalty = (chosen ? d : h) / std::min(h, d);
    ++out.sizes;
    out.on_device += chosen;
    if (penalty > 1) ++out.differ;
    out.worst = std::max(out.worst, penalty);
    logs += std::log(penalty);
  }
  out.mean = std::exp(logs / out.sizes);
  if (made) *made = guard;
  return out;
}

}  // namespace

TEST_CASE("guard: chooses as the model does, but for few sizes, where it loses little") {
  for (const char* text : {kGuardProduct, kGuardTriangle, kGuardStrided}) {
    const Agreement a = agreement(text);
    CAPTURE(text);
    CAPTURE(a.sizes);
    CAPTURE(a.differ);
    CAPTURE(a.on_device);
    CAPTURE(a.worst);
    CAPTURE(a.mean);
    CHECK(a.sizes > 100);
    CHECK(a.differ <= 0.06 * a.sizes);
    CHECK(a.worst <= 3);
    CHECK(a.mean <= 1.02);
    CHECK((text == kGuardStrided || a.on_device > 10));  // whose copies take longer than its work
    CHECK(a.on_device < a.sizes - 10);
  }
}

TEST_CASE("guard: of one parameter it is exact where the choice changes once") {
  Guard g;
  const Agreement a = agreement(kGuardSquare, &g);
  CAPTURE(a.differ);
  CAPTURE(a.worst);
  CHECK(a.worst <= 1.3);
  CHECK(g.parameters == std::vector<std::string>{"n"});
  REQUIRE(!g.changes.empty());
  CHECK(!g.device_first);
  CHECK(!g.prefers_device({{"n", g.changes.front() - 1}}));
  CHECK(g.prefers_device({{"n", g.changes.front()}}));
  CHECK(g.c_condition().starts_with(g.changes.size() == 1 ? "n >= " : "(n >= "));
}

TEST_CASE("guard: the same question has the same answer, and no sizes are an error") {
  Guard a, b;
  agreement(kGuardTriangle, &a);
  agreement(kGuardTriangle, &b);
  CHECK(a.host.c_body() == b.host.c_body());
  CHECK(a.device.c_body() == b.device.c_body());
  const Kernel k = kernel(
      "kernel huge(n: int32, a: inout float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
      "assume n >= 100000\na[i, 0] = 1\n");
  const Work w = work_of(k, Target::C);
  const MachineProfile p = host_profile();
  std::string code;
  try {
    fit_guard({w, p}, {w, p}, k.assumptions);
  } catch (const Error& e) { code = e.diagnostics().front().code; }
  CHECK(code == "no-sizes");
}

TEST_CASE("formula: values in doubles, and the same in C") {
  const auto value = [](const std::string& text) {
    return real_value(parse_expression(text), {{"n", 7}, {"m", 100000}});
  };
  CHECK(value("m**4") == 1e20);  // beyond 64 bits
  CHECK(value("(n**2 + n)//2") == 28);
  CHECK(value("(0 - n)//4") == -2);
  CHECK(value("(0 - n) % 4") == 1);
  CHECK(value("min(n, m)*max(n, 9)") == 63);
  CHECK(value("5 if n >= 8 or m == 100000 else 6") == 5);
  CHECK(!value("n + unknown").has_value());
  CHECK(!value("n & 1").has_value());
  const auto text = [](const std::string& e) { return real_text(parse_expression(e)); };
  CHECK(text("n**3 - 2*n") == "n*n*n - 2.0*n");
  CHECK(text("((n - 1)//16 + 1)*m") == "(floor((n - 1.0)/16.0) + 1.0)*m");
  CHECK(text("n if n >= 1 and m >= 1 else 0") == "n >= 1.0 && m >= 1.0 ? n : 0.0");
  CHECK(text("min(n, m)") == "fmin(n, m)");
  CHECK(text("int*2") == "int_*2.0");
}
