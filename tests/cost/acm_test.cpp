#include "cost/acm.h"

#include <doctest/doctest.h>

#include "cost/choose.h"
#include "tests/cost/kit.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::cost;  // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// The paper's platform T1: MHz and MB.
AcmMachine t1() {
  AcmMachine m;
  m.f_cpu = 2960;
  m.f_gpu = 1405;
  m.lc_cpu = 20;
  m.lc_gpu = 3;
  m.units = 30;
  return m;
}

/// The model's work of one launch over `n` points in blocks of 1024.
double literal(double n) { return acm_lambda_exec(t1(), std::ceil(n / 1024), n, 1); }

}  // namespace

TEST_CASE("acm: the relative performance of the paper's platforms") {
  CHECK(acm_psi(t1()) == doctest::Approx(0.00118666).epsilon(1e-5));
  AcmMachine t2;
  t2.f_cpu = 3900;
  t2.f_gpu = 1500;
  t2.lc_cpu = 8;
  t2.lc_gpu = 1.5;
  t2.units = 9;
  CHECK(acm_psi(t2) == doctest::Approx(0.00400641).epsilon(1e-5));
  t2.f_cpu = 800;
  CHECK(acm_psi(t2) == doctest::Approx(0.01953125).epsilon(1e-9));
}

TEST_CASE("acm: the work of a launch, with its dip where a block is only just begun") {
  CHECK(literal(30720) == 8);
  CHECK(literal(30721) == 15.484375);
  CHECK(literal(31744) == 16);
  CHECK(literal(1048576) == 280);
}

TEST_CASE("acm: a launch binds in a host's loop, else it is added") {
  AcmMachine m = t1();
  m.lambda_x = 100;
  CHECK(acm_gpu_cost(m, 30, 7.0) == 700);
  CHECK(acm_gpu_cost(m, 300, 7.0) == 2100);
  CHECK(acm_gpu_cost(m, 30, std::nullopt) == 130);
}

TEST_CASE("acm: kernels") {
  const Kernel k = kernel(R"(
kernel saxpy(n: int32, c: float32, x: in float32[n], y: inout float32[n])
domain {[i]: 0 <= i < n}
y[i] = c*x[i] + y[i]
)");
  AcmMachine m = t1();
  m.mu = 50;
  m.lambda_x = 1000;
  m.transfer = 4;
  const Prediction cpu = predict_acm(work_of(k, Target::C), {{"n", 30721}}, m);
  CHECK(cpu.seconds == doctest::Approx(30721.0 / 50));
  const Kernel on_gpu = split(k, "i", 1024, "g.0", "l.0");
  const Prediction gpu = predict_acm(work_of(on_gpu, Target::Cuda), {{"n", 30721}}, m);
  CHECK(bound(gpu, "statements").seconds ==
        doctest::Approx((1000 + 15.484375) / (50 * acm_psi(m))));
  CHECK(bound(gpu, "transfers").seconds == doctest::Approx(3 * 4 * 30721.0 / 4));
}

TEST_CASE("choose: all changes of the choice are found exactly") {
  const auto choice = [](std::int64_t n) -> std::size_t {
    return n < 37 ? 0 : n < 1000 ? 1 : n < 70000 ? 2 : 0;
  };
  const auto all = crossovers(1, 1 << 20, choice);
  REQUIRE(all.size() == 3);
  CHECK(all[0].value == 37);
  CHECK(all[1].value == 1000);
  CHECK(all[2].value == 70000);
  CHECK(all[1].before == 1);
  CHECK(all[1].after == 2);
  CHECK(crossovers(5, 5, choice).empty());
  CHECK(crossovers(36, 37, choice).size() == 1);
  CHECK(fastest({3, 1, 1}) == 1);
  CHECK(fastest({1.5, 1.0, 1.0}) == 1);  // the first one of equals
  CHECK(fastest({1.011, 1.0, 0.999}) == 2);
  CHECK(fastest({}) == 0);
}
