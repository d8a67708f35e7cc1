#include "runtime/npy.h"
#include "tests/runtime/support.h"
#include "transforms/registry.h"

using namespace moonloop;
using test::error_of;
using test::Folder;

namespace {

const char* const kMatmul =
    R"(kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

Kernel apply(const Kernel& k, const std::string& op, ValueList positional, ValueDict options = {}) {
  return run_op(*find_op(op), k, std::move(positional), std::move(options));
}
Value v(const char* s) { return Value{std::string(s)}; }
Value v(int n) { return Value{std::int64_t{n}}; }

RunRequest verified(Target target, GivenValues params) {
  RunRequest r;
  r.target = target;
  r.params = std::move(params);
  r.verify = true;
  return r;
}

/// Runs on C and OpenMP; both equal the interpreter.
void check_equal(const Kernel& k, const Kernel& original, const GivenValues& params) {
  for (const Target t : {Target::C, Target::OpenMP}) {
    CAPTURE(to_string(t));
    const RunResult r = run_kernel(k, original, verified(t, params));
    REQUIRE(r.verification.has_value());
    CHECK(r.verification->equal());
  }
}

}  // namespace

TEST_CASE("run: a tiled product equals the interpreter at sizes that no tile divides") {
  const Kernel k = parsed(kMatmul);
  Kernel t =
      apply(k, "split_iname", {v("i"), v(8)}, {{"inner_tag", v("l.0")}, {"outer_tag", v("g.0")}});
  t = apply(t, "split_iname", {v("j"), v(4)}, {{"inner_tag", v("l.1")}, {"outer_tag", v("g.1")}});
  t = apply(t, "split_iname", {v("k"), v(5)});
  for (const char* n : {"1", "7", "16", "33"}) {
    CAPTURE(n);
    check_equal(t, k, {{"n", n}});
  }
}

TEST_CASE("run: kernels of all kinds equal the interpreter") {
  for (const char* text : {
           "kernel k(n: int32, a: float64[n])\ndomain {[i]: 1 <= i < n}\na[i] = a[i-1]*0.5 + "
           "a[i]\n",
           "kernel k(n: int32, a: int64[n, n])\ndomain {[i, j]: 0 <= j <= i < n}\n"
           "a[i, j] = (a[j, i]*3 - 7) // 2 + i % 3\n",
           "kernel k(n: int32, a: complex128[n], c: complex64[n])\ndomain {[i]: 0 <= i < n}\n"
           "a[i] = a[i]*a[i] + 2j\n",
           "kernel k(n: int32, a: float32[n], m: float32[1])\ndomain {[i]: 0 <= i < n}\n"
           "m[0] = max(i, a[i])\n",
           "kernel k(n: int32, a: float64[n, 5], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
           "domain {[j]: 0 <= j < 5}\n<> t = a[i, 0]\nc[i] = sum(j, a[i, j]*t)\n",
           "kernel k(n: int32, x: float64[n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
           "y[i] = sqrt(x[i]) + exp(-x[i]) if x[i] > 0.5 else sin(x[i])\n",
       }) {
    CAPTURE(text);
    const Kernel k = parsed(text);
    check_equal(k, k, {{"n", "17"}});
  }
}

TEST_CASE("run: .npy in, arrays out, fixed parameters") {
  const Folder folder;
  const Kernel k = parsed(
      "kernel twice(n: int32, a: int64[n], c: int64[n])\ndomain {[i]: 0 <= i < n}\nc[i] = "
      "2*a[i]\n");
  Buffer a(Layout{"a", Scalar::I64, {3}, {1}, 0});
  for (int i = 0; i < 3; ++i) static_cast<std::int64_t*>(a.data())[i] = 10 * i - 5;
  write_npy(folder / "a.npy", a);
  RunRequest request = verified(Target::C, {{"n", "3"}});
  request.inputs["a"] = folder / "a.npy";
  const RunResult r = run_kernel(k, k, request);
  CHECK(r.array("c").first(3) == std::vector<std::string>{"-10", "10", "30"});
  CHECK(r.written == std::vector<std::string>{"c"});

  request.inputs = {{"b", folder / "a.npy"}};
  CHECK(error_of([&] { run_kernel(k, k, request); }) ==
        "kernel `twice` has no array `b`; it has `a`, `c` [unknown-array]");
}

TEST_CASE("run: a kernel that does something else is found out") {
  const Kernel k = parsed(kMatmul);
  const Kernel wrong =
      parsed(R"(kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, k]: 0 <= i, j < n and 0 <= k < n - 1}
c[i, j] = sum(k, a[i, k]*b[k, j])
)");
  const RunResult r = run_kernel(wrong, k, verified(Target::C, {{"n", "9"}}));
  CHECK_FALSE(r.verification->equal());
  CHECK(r.verification->arrays[0].different == 81);
  CHECK(r.verification->arrays[0].index == "[0, 0]");

  const Kernel other =
      parsed(R"(kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n, 1])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j, 0] = sum(k, a[i, k]*b[k, j])
)");
  CHECK(error_of([&] {
          run_kernel(other, k, verified(Target::C, {{"n", "9"}}));
        }) ==
        "`c` is float64[9, 9] before the transforms, float64[9, 9, 1] after them [cannot-verify]");
}

TEST_CASE("run: timing repeats, and leaves the result of one run") {
  const Kernel k =
      parsed("kernel grow(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 2*a[i]\n");
  RunRequest request = verified(Target::C, {{"n", "100"}});
  request.time = true;
  const RunResult r = run_kernel(k, k, request);
  REQUIRE(r.timing.has_value());
  CHECK(r.timing->runs >= 3);
  CHECK(r.timing->least <= r.timing->median);
  CHECK(r.timing->median <= r.timing->most);
  CHECK(r.verification->equal());
  CHECK(r.work->flops == 100);
}
