#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "core/sets/budget.h"
#include "loop_kit.h"

using namespace moonloop;

namespace {

Value list(const std::string& name) { return Value{ValueList{text(name)}}; }

/// Fetches every second element into a temporary, and splits the loop that does so three times.
Kernel fetch_in_parts() {
  Kernel k = parsed(
      "kernel f(n: int32, a: int32[3*n + 12])\ndomain {[i]: 0 <= i < n}\nassume n >= 5\n"
      "a[i + 2] = a[i + 2] + 1  {id=s, if=i % 2 == 0}\n");
  k = apply(k, "add_prefetch", {text("a"), list("i")});
  k = apply(k, "split_iname", {text("a_dim_0"), number(4)});
  k = apply(k, "split_iname", {text("a_dim_0_outer"), number(4)});
  return apply(k, "chunk_iname", {text("a_dim_0_outer_outer"), number(5)});
}

/// Fills a buffer under conditions with many cases, in a loop whose chunks have cases of their own.
Kernel buffer_in_chunks() {
  Kernel k = parsed(
      "kernel f(n: int32, c: int32[3*n + 12], q: int32[3*n + 12, 3*n + 12])\n"
      "domain {[i]: 1 <= i < n}\ndomain {[j]: 0 <= j < n and i - 1 <= j <= i + 1}\n"
      "domain {[k]: 0 <= k < n}\nassume n >= 5\n"
      "c[n - i] = q[j + 1, j + 2] + q[i + 2, j + 3] + q[k // 2 + 3, k + 2] {inames=i:j:k}\n");
  k = apply(k, "buffer_array", {text("q"), Value{ValueList{}}});
  return apply(k, "chunk_iname", {text("k"), number(4)});
}

unsigned long operations(const Kernel& k) {
  const IslBudget budget(kPhaseOperations);
  complete(k);
  return budget.used();
}

/// Writes every second element of a temporary and reads `read` of it; both loops in parts.
Kernel every_second(const std::string& read, const std::string& domain = "0 <= j < n") {
  Kernel k =
      parsed("kernel f(n: int32, p: int32, y: int32[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: " +
             domain +
             "}\nassume n >= 5\ntemp t: int32[2*n]\n"
             "t[2*i] = i {id=w, inames=i}\ny[j] = t[" +
             read + "] {id=r, inames=j, dep=w}\n");
  for (const char* i : {"i", "j"}) {
    k = apply(k, "split_iname", {text(i), number(4)});
    k = apply(k, "chunk_iname", {text(std::string(i) + "_outer"), number(3)});
  }
  return k;
}

}  // namespace

TEST_CASE("complete: loops in many parts touch the elements that the reference touches") {
  CHECK(operations(fetch_in_parts()) < 100'000);
  CHECK(operations(buffer_in_chunks()) < 300'000);
  CHECK(operations(every_second("2*j")) < 100'000);
}

TEST_CASE("complete: what the reference may not touch no order of it may") {
  CHECK(code_of([] { complete(every_second("2*j + 1")); }) == "undefined-read");
  CHECK(code_of([] { complete(every_second("2*j", "0 <= j <= n")); }) == "out-of-bounds");
  CHECK(message([] { complete(every_second("2*j", "0 <= j <= n")); }).find("r[j_inner=") !=
        std::string::npos);
}

TEST_CASE("complete: what a step has changed is not taken from the reference") {
  const Kernel k = every_second("p*j");
  CHECK(code_of([&] { complete(k); }) == "legal");  // not affine
  const auto fixed = [&](std::int64_t p) {
    return code_of([&] {
      complete(apply(k, "fix_parameters", {Value{ValueDict{{"p", number(p)}}}}));
    });
  };
  CHECK(fixed(2) == "legal");
  CHECK(fixed(1) == "undefined-read");
  CHECK(fixed(4) == "out-of-bounds");
}
