#include <doctest/doctest.h>

#include "cost/predict.h"
#include "tests/cost/kit.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::cost;  // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kScale = R"(
kernel scale(n: int32, a: in float32[n, n], b: out float32[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = 2*a[i, j]
)";

Kernel on_grid(const Kernel& k, const std::string& fast, const std::string& slow) {
  return split(split(k, fast, 32, "g.0", "l.0"), slow, 8, "g.1", "l.1");
}

Prediction resident(const Kernel& k, const Integers& params) {
  PredictOptions o;
  o.resident = true;
  return predict(k, Target::Cuda, params, gpu_profile(), o);
}

}  // namespace

TEST_CASE("cost: neighbours that access neighbours share sectors, others pay for whole ones") {
  const Integers n{{"n", 4096}};
  const Prediction rows = resident(on_grid(kernel(kScale), "j", "i"), n);
  const Prediction columns = resident(on_grid(kernel(kScale), "i", "j"), n);
  CHECK(bound(rows, "memory").amount ==
        doctest::Approx(3 * 4 * 4096.0 * 4096).epsilon(0.02));  // a store fetches its lines, too
  CHECK(rows.bottleneck().name == "memory");
  CHECK(columns.seconds > 1.5 * rows.seconds);
  CHECK(bound(columns, "L1").amount > 8 * bound(rows, "L1").amount);
}

TEST_CASE("cost: arrays go to the device and back unless they are there") {
  const Kernel k = on_grid(kernel(kScale), "j", "i");
  const Integers n{{"n", 1000}};
  const Prediction with = predict(k, Target::Cuda, n, gpu_profile());
  const Prediction without = resident(k, n);
  CHECK(bound(with, "transfers").amount == 3 * 4e6);  // a there, b there and back
  CHECK(bound(without, "transfers").amount == 0);
  CHECK(with.seconds == doctest::Approx(without.seconds + bound(with, "transfers").seconds));
}

TEST_CASE("cost: too few work-items leave units without work") {
  const Kernel k = on_grid(kernel(kScale), "j", "i");
  const Prediction small = resident(k, {{"n", 64}});
  const Prediction large = resident(k, {{"n", 4096}});
  const double work = small.seconds - bound(small, "launches").seconds;
  CHECK(bound(small, "starvation").binding > 0.3 * work);
  CHECK(bound(large, "starvation").binding < 0.05 * large.seconds);
}

TEST_CASE("cost: each step of a host's loop is a launch") {
  const Kernel k = kernel(R"(
kernel steps(n: int32, t: int32, a: inout float32[n], b: inout float32[n])
domain {[s, i, j]: 0 <= s < t and 0 <= i, j < n}
for s
  for i
    b[i] = a[n - 1 - i] {id=there}
  end
  for j
    a[j] = b[n - 1 - j] {id=back}
  end
end
)");
  const Prediction p = resident(split(split(k, "i", 64, "g.0", "l.0"), "j", 64, "g.0", "l.0"),
                                {{"n", 640}, {"t", 50}});
  CHECK(bound(p, "launches").amount == 100);
  CHECK(bound(p, "launches").binding == doctest::Approx(100 * gpu_profile().launch));
}

TEST_CASE("cost: a call takes its start once, and each launch") {
  cost::MachineProfile machine = gpu_profile();
  const Kernel k = on_grid(kernel(kScale), "j", "i");
  cost::PredictOptions o;
  o.resident = true;
  const auto launches = [&] {
    return bound(predict(k, Target::Cuda, {{"n", 64}}, machine, o), "launches").binding;
  };
  const double before = launches();
  machine.start = 3e-6;
  CHECK(launches() == doctest::Approx(before + 3e-6));
}

TEST_CASE("cost: work-items that read the same word of local memory are served at once") {
  const auto local = [](const char* index) {
    const Kernel k = kernel(fmt::format(R"(
kernel reads(n: int32, a: in float32[32*n], b: out float32[32*n])
domain {{[g]: 0 <= g < n}}
domain {{[i, j, m]: 0 <= i, j, m < 32}}
temp t: float32[1024] in local
for g
  for i
    for m
      t[i + 32*m] = a[32*g + i]
    end
  end
  for j
    b[32*g + j] = t[{}]
  end
end
)",
                                        index));
    const Kernel grid = tagged(tagged(tagged(k, "g", "g.0"), "i", "l.0"), "j", "l.0");
    return bound(resident(grid, {{"n", 1000}}), "local").amount;
  };
  const double turn = 1000 * 32 * 4;  // a word of each bank
  CHECK(local("j") == (32 + 1) * turn);
  CHECK(local("0*j") == (32 + 1) * turn);  // no less than an instruction's turn
  CHECK(local("2*j") == (32 + 2) * turn);  // two words of each other bank
  CHECK(local("31*j") == (32 + 1) * turn);
  CHECK(local("32*j") == (32 + 32) * turn);
}

TEST_CASE("cost: independent instructions hide what few warps wait for") {
  const Kernel k = kernel(R"(
kernel sums(n: int32, a: in float32[n], x: float32, r: out float32[8])
domain {[j, k]: 0 <= j < 8 and 0 <= k < n}
r[j] = sum(k, a[k]*x + a[k]*x*x)
)");
  const Kernel one = tagged(k, "j", "l.0");
  const Prediction alone = resident(one, {{"n", 10000}});
  const Prediction many = resident(tagged(k, "j", "ilp"), {{"n", 10000}});
  CHECK(bound(alone, "starvation").binding > bound(many, "starvation").binding);
}

TEST_CASE("cost: groups wait at barriers") {
  const Kernel k = kernel(R"(
kernel turn(n: int32, a: in float32[64*n], b: out float32[64*n])
domain {[g]: 0 <= g < n}
domain {[i, j]: 0 <= i, j < 64}
temp t: float32[64] in local
for g
  for i
    t[i] = a[64*g + i]
  end
  for j
    b[64*g + j] = t[63 - j]
  end
end
)");
  const Kernel grid = tagged(tagged(tagged(k, "g", "g.0"), "i", "l.0"), "j", "l.0");
  const Prediction p = resident(grid, {{"n", 1000}});
  CHECK(bound(p, "barriers").amount == 1000);
  CHECK(bound(p, "local").amount > 0);
}

TEST_CASE("cost: work-items that a guard keeps idle are told") {
  const Kernel k = kernel(R"(
kernel some(n: int32, a: inout float32[32*n])
domain {[g, i]: 0 <= g < n and 0 <= i < 32}
if i < 4
  a[32*g + i] = 2*a[32*g + i] {id=few}
end
)");
  const Prediction p = resident(tagged(tagged(k, "g", "g.0"), "i", "l.0"), {{"n", 1000}});
  CHECK(p.seconds > 0);
}
