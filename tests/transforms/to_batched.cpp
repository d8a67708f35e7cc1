// Each batch of a batched kernel is what the kernel does alone.
#include "transforms/to_batched.h"

#include "tests/batches.h"
#include "tests/transforms/loop_kit.h"

using namespace moonloop;
using test::different_batch;

namespace {

const char* const kSolve = R"(kernel solve(n: int32, w: float64, a: float64[n, n], x: float64[n])
domain {[i]: 0 <= i < n}
domain [i] -> {[j]: 0 <= j < i}
<>s = sum(j, a[i, j]*x[j])
x[i] = w*(x[i] - s)/(1 + a[i, i]*a[i, i])
)";

}  // namespace

TEST_CASE("to_batched: each batch gets what the kernel gives alone") {
  const Kernel k = parsed(kSolve);
  for (const std::int64_t n : {1, 2, 7})
    for (const bool inside : {false, true}) {
      CAPTURE(n);
      CAPTURE(inside);
      CHECK(different_batch(k, {.inside = inside}, {{"n", n}}).empty());
      // A scalar of its own in each batch, and one matrix for all.
      CHECK(different_batch(k, {.args = {{"x", "w"}}, .inside = inside}, {{"n", n}}).empty());
    }
  CHECK(!to_batched(k, {.count = "3"}).find_arg("nbatch"));
  CHECK(different_batch(k, {.count = "3"}, {{"n", 5}}).empty());
}

TEST_CASE(
    "to_batched: rules, bounds from data, flat subscripts, predicates and axes in any order") {
  const Kernel k =
      parsed(R"(kernel k(n: int32, m: float64[n], a: float64[n, 2] order=F, y: float64[n])
twice(a_, i_) := 2*a_ + m[i_]
domain {[i]: 0 <= i < n}
domain [i, top] -> {[j]: 0 <= j < top}
<int32> top = cast(int32, m[i]) % n    {id=top}
if m[i] > 1
  a[i, 0] = twice(a[i, 1], i) + sum(j, y[j])
end
a[[i + n]] = a[i, 0] + i
y[i] = a[i, 1]
)");
  for (const std::int64_t n : {1, 4, 9})
    for (const bool inside : {false, true}) {
      CAPTURE(n);
      CAPTURE(inside);
      CHECK(different_batch(k, {.inside = inside}, {{"n", n}}).empty());
      const Kernel all = to_batched(k, {.inside = inside});
      const Argument& a = *all.find_arg("a");
      CHECK(to_string((*a.shape)[inside ? 0 : 2]) == "nbatch");
      CHECK(to_string((*a.shape)[inside ? 2 : 1]) == "2");
    }
}

TEST_CASE("to_batched: the memory of arrays with strides and offsets") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: float64[n, 4] strides=(8, 2) offset=3)\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < 4}\na[i, j] = 2*a[i, j]\n");
  const auto text = [](const Argument& a) {
    std::string out = to_string(a.offset);
    for (const Expr& s : *a.strides) out += " " + to_string(s);
    return out;
  };
  CHECK(text(*to_batched(k).find_arg("a")) == "3 8*n - 1 8 2");
  CHECK(text(*to_batched(k, {.inside = true}).find_arg("a")) == "3*nbatch 8*nbatch 2*nbatch 1");
}

TEST_CASE("to_batched: what is no batch is refused") {
  const Kernel k = parsed(kSolve);
  const auto says = [&](const BatchOptions& o, const std::string& code, const std::string& what) {
    const auto f = [&] { to_batched(k, o); };
    CHECK(code_of(f) == code);
    CHECK_MESSAGE(message(f).find(what) != std::string::npos, message(f));
  };
  says({.args = {{"a"}}}, "same-output",
       "writes `x`, which all batches would share; give it an axis, too");
  says({.args = {{"x", "n"}}}, "bounds-loops",
       "the loop `i` depends on `n`, so this cannot differ by batch");
  says({.args = {{"x", "b"}}}, "unknown-argument", "`b`");
  says({.count = "w"}, "name-taken", "`w` is no number of batches");
  says({.count = "2 3"}, "bad-name", "`2 3`");
  says({.iname = "j"}, "name-taken", "`j`");
  const Kernel places = parsed(
      "kernel k(n: int32, a: float64[n], x: int32[n])\ndomain {[i]: 0 <= i < n}\n"
      "x[i] = indexof(a[i])\n");
  CHECK(code_of([&] { to_batched(places); }) == "unsupported");
  CHECK(code_of([&] { to_batched(places, {.args = {{"x"}}}); }) == "legal");
  const Kernel mapped = parsed(
      "kernel k(n: int32, map: in int32[n], x: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "x[map[i]] = 2*x[map[i]]\n");
  const Kernel claimed = apply(mapped, "assume_injective", {text("map")});
  CHECK(code_of([&] { to_batched(claimed); }) == "claimed-values");
  CHECK(code_of([&] { to_batched(claimed, {.args = {{"x"}}}); }) == "legal");
  const Kernel counted = parsed(
      "kernel k(n: int32, x: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "temp sofar: float64[1] init=(1)\nx[i] = x[i] + sofar[0]\nsofar[0] = x[i]\n");
  CHECK(code_of([&] { to_batched(counted); }) == "initial-values");
}
