#include "cost/predict.h"

#include <doctest/doctest.h>

#include "core/base/diagnostic.h"
#include "tests/cost/kit.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::cost;  // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kCopy = R"(
kernel cp(n: int32, a: in float64[n, n], b: out float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = 2*a[i, j]
)";
const char* const kTransposed = R"(
kernel tr(n: int32, a: in float64[n, n], b: out float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = a[j, i]
)";
const char* const kProduct = R"(
kernel mm(n: int32, a: in float64[n, n], b: in float64[n, n], c: inout float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = c[i, j] + a[i, k]*b[k, j]
)";
const char* const kTriangle = R"(
kernel trsv(n: int32, l: in float64[n, n], b: in float64[n], x: inout float64[n])
domain {[i]: 0 <= i < n}
domain [i] -> {[j]: 0 <= j < i}
for i
  <> s = sum(j, l[i, j]*x[j])
  x[i] = (b[i] - s)/l[i, i]
end
)";

}  // namespace

TEST_CASE("cost: what fits into a cache stays there, what does not is moved whole") {
  const Kernel k = kernel(kCopy);
  const Prediction large = on_host(k, {{"n", 4000}});
  CHECK(bound(large, "memory").amount == doctest::Approx(3 * 8 * 4000.0 * 4000).epsilon(0.01));
  CHECK(large.bottleneck().name == "memory");
  const Prediction middle = on_host(k, {{"n", 500}});
  CHECK(bound(middle, "memory").amount == 0);
  CHECK(bound(middle, "L3").amount == doctest::Approx(3 * 8 * 500.0 * 500).epsilon(0.01));
  const Prediction small = on_host(k, {{"n", 20}});
  CHECK(bound(small, "L2").amount == 0);
  CHECK(on_host(k, {{"n", 0}}).seconds < 1e-7);
}

TEST_CASE("cost: the parts that bind add up, and the same question has the same answer") {
  const Prediction p = on_host(kernel(kProduct), {{"n", 300}});
  double sum = 0;
  for (const Bound& b : p.bounds) {
    sum += b.binding;
    CHECK(b.binding <= b.seconds * (1 + 1e-9));
  }
  CHECK(p.seconds == doctest::Approx(sum));
  const Prediction again = on_host(kernel(kProduct), {{"n", 300}});
  CHECK(again.seconds == p.seconds);
  CHECK(p.device == "Example");
  CHECK(!p.measured);
}

TEST_CASE("cost: walks along columns fetch lines for single elements, tiles use them up") {
  const double straight = on_host(kernel(kCopy), {{"n", 4000}}).seconds;
  const double across = on_host(kernel(kTransposed), {{"n", 4000}}).seconds;
  const Kernel tiled = tile(kernel(kTransposed), {{"i", 8}, {"j", 8}});
  const double tiles = on_host(tiled, {{"n", 4000}}).seconds;
  CHECK(across > 1.5 * straight);
  CHECK(tiles < 1.1 * across);
  // Lines at a power of two are kept in few places of a cache.
  const double crowded = on_host(kernel(kTransposed), {{"n", 4096}}).seconds;
  CHECK(crowded > 1.5 * across);
  CHECK(on_host(tiled, {{"n", 4096}}).seconds < 0.7 * crowded);
}

TEST_CASE("cost: which tiles of a transposed copy pay depends on where its lines come from") {
  MachineProfile p = host_profile();  // as measured on a machine of 2025, one core
  p.clock = 4.1e9;
  p.vector_bytes = 64;
  p.f64 = 1.2e11;
  p.levels = {{"L1", 48 << 10, 64, false, 6.6e11, 1.3e12, 2e11},
              {"L2", 1 << 20, 64, false, 2.9e11, 5.8e11, 1.3e11},
              {"L3", 32 << 20, 64, true, 1.5e11, 1.5e11, 4.2e10},
              {"memory", 0, 64, true, 6.2e10, 6.2e10, 2.7e10}};
  const auto seconds = [&](int side, int n) {
    const Kernel k = kernel(kTransposed);
    return predict(side == 0 ? k : tile(k, {{"i", side}, {"j", side}}), Target::C, {{"n", n}}, p)
        .seconds;
  };
  // Columns of 1000 lines are walked again before they are used up, and the first level drops
  // them: tiles are better, here measured by a factor of 2.2.
  CHECK(seconds(0, 1000) > 1.5 * seconds(16, 1000));
  // From main memory, columns of 3000 lines come with many lines on their way at once, tiles with
  // few: measured 1.0 for the first, 1.9, 1.2 and 1.0.
  CHECK(seconds(16, 3000) > 1.5 * seconds(0, 3000));
  CHECK(seconds(32, 3000) < seconds(16, 3000));
  CHECK(seconds(32, 3000) > 1.1 * seconds(0, 3000));
  CHECK(seconds(64, 3000) < 1.05 * seconds(0, 3000));
}

TEST_CASE("cost: a sum in order waits for each addition, rows of a product go by vectors") {
  const Kernel k = kernel(kProduct);
  const Prediction inner = on_host(ordered(k, "i, j, k"), {{"n", 300}});
  const Prediction rows = on_host(ordered(k, "i, k, j"), {{"n", 300}});
  CHECK(inner.bottleneck().name == "latency");
  CHECK(rows.seconds < inner.seconds / 3);
  const Prediction columns = on_host(ordered(k, "j, k, i"), {{"n", 1000}});
  CHECK(columns.seconds > 3 * on_host(ordered(k, "i, k, j"), {{"n", 1000}}).seconds);
}

TEST_CASE("cost: elements in registers between unrolled loops are neither loaded nor waited for") {
  Kernel k = kernel(kProduct);
  const double plain = on_host(ordered(k, "i, j, k"), {{"n", 256}}).seconds;
  k = split(split(k, "i", 2, "for", "unr"), "j", 4, "for", "unr");
  const Prediction blocks =
      on_host(ordered(k, "i_outer, j_outer, k, i_inner, j_inner"), {{"n", 256}});
  CHECK(blocks.seconds < plain);
  CHECK(bound(blocks, "L1").amount < 0.8 * 256 * 256 * 256);
}

TEST_CASE("cost: triangles count exactly") {
  const Prediction p = on_host(kernel(kTriangle), {{"n", 101}});
  // A product and an addition for each j < i, then a subtraction and a division.
  CHECK(bound(p, "arithmetic").amount == 2 * (101 * 100 / 2) + 2 * 101);
}

TEST_CASE("cost: strided domains count exactly, and their lines as far as they are apart") {
  const Kernel k = kernel(R"(
kernel every(n: int32, a: inout float64[n])
domain {[i]: 0 <= i < n and i mod 4 = 1}
a[i] = 2*a[i]
)");
  const Prediction p = on_host(k, {{"n", 4000000}});
  CHECK(bound(p, "arithmetic").amount == 1000000);
  CHECK(bound(p, "memory").amount == doctest::Approx(2 * 8 * 4000000.0).epsilon(0.02));
}

TEST_CASE("cost: threads share a loop, and some starve where it is short") {
  const Kernel k = kernel(kProduct);
  const Kernel par = tagged(ordered(k, "i, k, j"), "i", "par");
  const Integers n{{"n", 400}};
  const double one = on_host(ordered(k, "i, k, j"), n).seconds;
  const double four = predict(par, Target::OpenMP, n, host_profile()).seconds;
  CHECK(four < one / 2);
  CHECK(predict(par, Target::C, n, host_profile()).seconds == doctest::Approx(one));
  const Kernel few = kernel(R"(
kernel few(n: int32, a: inout float64[5, n])
domain {[i]: 0 <= i < 5}
domain {[j]: 0 <= j < n}
a[i, j] = a[i, j]*a[i, j]
)");
  const Prediction p =
      predict(tagged(few, "i", "par"), Target::OpenMP, {{"n", 1000}}, host_profile());
  CHECK(bound(p, "starvation").binding > 0);
  CHECK(bound(p, "launches").amount == 1);
}

TEST_CASE("cost: loops after each other add up, and fused ones use what is there") {
  const char* const text = R"(
kernel two(n: int32, a: in float64[n], b: inout float64[n], c: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
b[i] = 2*a[i]   {id=first}
c[j] = b[j] + 1 {id=second}
)";
  const Integers n{{"n", 10'000'000}};
  const Prediction apart = on_host(kernel(text), n);
  std::string fused = text;
  for (const std::string from : {"j]", "domain {[i]: 0 <= i < n}\n"})
    for (auto at = fused.find(from); at != std::string::npos; at = fused.find(from))
      fused.replace(at, from.size(), from == "j]" ? "i]" : "");
  fused.replace(fused.find("0 <= j"), 6, "0 <= i");
  CHECK(on_host(kernel(fused), n).seconds < 0.9 * apart.seconds);
}

TEST_CASE("cost: subscripts from data may be anywhere, and say so") {
  const Kernel k = kernel(R"(
kernel gather(n: int32, m: int32, p: in int32[n], a: in float64[m], b: out float64[n])
domain {[i]: 0 <= i < n}
b[i] = a[p[i]]
)");
  const Prediction p = on_host(k, {{"n", 1'000'000}, {"m", 100'000'000}});
  CHECK(p.remarks.count("`p[i]` in a subscript of `a` is not affine: it may be any place") == 1);
  const Prediction near = on_host(k, {{"n", 1'000'000}, {"m", 1000}});
  CHECK(p.seconds > 3 * near.seconds);
}

TEST_CASE("cost: loops whose bounds are computed need a number") {
  const Kernel k = kernel(R"(
kernel rows(n: int32, s: in int32[n + 1], a: in float64[1000], y: out float64[n])
domain {[i]: 0 <= i < n}
domain [first, last] -> {[j]: first <= j < last}
for i
  <int32> first = s[i]
  <int32> last = s[i + 1]
  y[i] = sum(j, a[j])
end
)");
  try {
    on_host(k, {{"n", 100}});
    FAIL("it has no number of iterations");
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "data-dependent-count");
    CHECK(e.diagnostic().hint ==
          "say how many iterations `j` has: `trips = {j = 16}`, `--trips j=16`");
  }
  PredictOptions few, many;
  few.trips["j"] = 5;
  many.trips["j"] = 50;
  const Integers n{{"n", 100000}};
  const Prediction p = predict(k, Target::C, n, host_profile(), few);
  CHECK(p.remarks.count("`j` has 5 iterations, as assumed") == 1);
  CHECK(predict(k, Target::C, n, host_profile(), many).seconds > 3 * p.seconds);
}

TEST_CASE("cost: a parameter without a value is an error") {
  CHECK_THROWS_WITH_AS(on_host(kernel(kCopy), {}),
                       "the cost needs a value of `n`; give `-p n=VALUE`", Error);
}

TEST_CASE("cost: called kernels count in their places") {
  const std::vector<Kernel> all = kernels(R"(
kernel row(n: int32, x: inout float64[n])
domain {[i]: 0 <= i < n}
x[i] = 2*x[i]

kernel all(n: int32, a: inout float64[n, n])
domain {[k]: 0 <= k < n}
call row(n, a[k, :])
)");
  const Prediction p = predict(all.back(), Target::C, {{"n", 100}}, host_profile());
  CHECK(bound(p, "arithmetic").amount == 10000);
  CHECK(p.remarks.count("kernels that it calls count as if they stood in their places") == 1);
}

TEST_CASE("cost: what the target cannot express is its own error") {
  CHECK_THROWS_AS(
      predict(tagged(kernel(kCopy), "i", "par"), Target::Cuda, {{"n", 100}}, gpu_profile()), Error);
}

TEST_CASE("cost: threads keep in their caches together what one core's do not hold") {
  const Kernel k = tagged(kernel(kCopy), "i", "par");
  // 12.8 MB, of a shared cache of 16 MB
  const Prediction p = predict(k, Target::OpenMP, {{"n", 800}}, host_profile(), {});
  CHECK(bound(p, "memory").amount == 0);
  // 1.28 MB, of four caches of 512 KB
  const Prediction small = predict(k, Target::OpenMP, {{"n", 280}}, host_profile(), {});
  CHECK(bound(small, "L3").amount == 0);
  CHECK(bound(on_host(kernel(kCopy), {{"n", 280}}), "L3").amount > 0);
}

TEST_CASE("cost: threads fetch what one of them wrote between runs from its core's caches") {
  const char* const text = R"(
kernel add(n: int32, a: in float64[n], b: inout float64[n])
domain {[i]: 0 <= i < n}
b[i] = b[i] + a[i]
)";
  const Kernel k = tagged(kernel(text), "i", "par");
  const auto handed = [&](const Kernel& x, std::int64_t n) {
    return bound(predict(x, Target::OpenMP, {{"n", n}}, host_profile(), {}), "handover").amount;
  };
  CHECK(handed(k, 16000) == doctest::Approx(0.75 * 8 * 16000).epsilon(0.01));
  CHECK(handed(k, 16000000) <= 512 << 10);  // more is not in that core's caches
  CHECK(handed(kernel(text), 16000) == 0);
}

TEST_CASE("cost: sums of lanes have memory for the longest loop, whatever this one's length is") {
  const Kernel k = kernel(R"(
kernel filter(n: int32, x: in float64[n + 50], w: in float64[50], y: out float64[n])
domain {[i]: 0 <= i < n}
domain {[p]: 0 <= p < 50}
y[i] = sum(p, w[p]*x[i + p])
)");
  const auto loads = [&](std::int64_t lanes) {
    return bound(on_host(split(k, "i", lanes, "for", "vec"), {{"n", 16}}), "L1").amount;
  };
  CHECK(loads(1024) > 2 * loads(16));  // 16 numbers are in registers
}

TEST_CASE("cost: threads on one core compute slower, the likelier the more there are") {
  const Kernel k = kernel(R"(
kernel powers(n: int32, a: inout float64[n])
domain {[i]: 0 <= i < n}
domain {[m]: 0 <= m < 100}
for i
  for m
    a[i] = a[i]*a[i]
  end
end
)");
  cost::MachineProfile machine = host_profile();
  const auto seconds = [&](std::int64_t n) {
    const cost::Prediction p =
        predict(tagged(k, "i", "par"), Target::OpenMP, {{"n", n}}, machine, {});
    return bound(p, "arithmetic").seconds;
  };
  const double two = seconds(2), four = seconds(4);
  machine.together = 0.5;
  CHECK(seconds(1) == doctest::Approx(two));  // one thread is alone
  // Of four units, three others: two threads meet in one of three cases, four nearly always.
  CHECK(two / seconds(2) == doctest::Approx(2.0 / 3 + 0.5 / 3));
  CHECK(four / seconds(4) == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("cost: what one thread wrote comes slower where threads have short pieces of rows") {
  const Kernel k = kernel(R"(
kernel add(n: int32, a: in float64[n, n], b: inout float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = b[i, j] + a[i, j]
)");
  const auto handed = [](const Kernel& x) {
    return bound(predict(x, Target::OpenMP, {{"n", 128}}, host_profile(), {}), "handover").seconds;
  };
  // Four threads: of 128 columns 32 each, 256 bytes of each row; of 128 rows 32.
  const double rows = handed(tagged(k, "i", "par"));
  const double columns = handed(ordered(tagged(k, "j", "par"), "j, i"));
  CHECK(rows == doctest::Approx(0.75 * 8 * 128 * 128 / host_profile().handover));
  CHECK(columns == doctest::Approx(rows * host_profile().handover / host_profile().handover_apart));
}
