// `mma` on every target that runs here; on CUDA by the matrix units.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::run_everywhere;
using test::split;
using test::step;
using test::word;

namespace {

Kernel product(bool transposed) {
  return parsed(std::string(R"(
kernel product(n: int32, m: int32, l: int32, a: float64[n, l], b: float64)") +
                (transposed ? "[m, l]" : "[l, m]") + R"(, c: inout float64[n, m])
domain {[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}
c[i, j] = 2*c[i, j] + sum(k, a[i, k]*b[)" +
                (transposed ? "j, k" : "k, j") + "])\n");
}

/// Warps of 4 by 8 work-items, each with two columns and, of 16 rows, two rows.
Kernel by_warps(Kernel k, bool halves, const ValueDict& slabs) {
  k = split(k, "i", halves ? 32 : 16, "g.1", "", slabs);
  if (halves) {
    k = split(k, "i_inner", 16, "l.2", "");
    k = split(k, "i_inner_inner", 8, "ilp", "l.1");
  } else {
    k = split(k, "i_inner", 8, "l.2", "l.1");
  }
  k = split(k, "j", 8, "g.0", "", slabs);
  k = split(k, "j_inner", 2, "l.0", "vec");
  return split(k, "k", 4, "", "mma", slabs);
}

}  // namespace

TEST_CASE("matrix units: products of tiles that are whole") {
  for (const bool halves : {true, false})
    for (const bool transposed : {true, false}) {
      Kernel k =
          step(product(transposed), "assume",
               {word("n mod 32 = 0 and m mod 8 = 0 and l mod 4 = 0 and n >= 32 and m >= 8")});
      k = by_warps(k, halves, {});
      run_everywhere(k, product(transposed), {{"n", "64"}, {"m", "24"}, {"l", "20"}});
      const std::string source = generate(k, Target::Cuda).source;
      CHECK(test::count(source, "mma_16x8x4(") == (halves ? 2 : 0));
      CHECK(test::count(source, "mma_8x8x4(") == (halves ? 3 : 2));
    }
}

TEST_CASE("matrix units: parts of tiles run by themselves") {
  const ValueDict slabs{
      {"slabs", Value{ValueList{Value{std::int64_t{0}}, Value{std::int64_t{1}}}}}};
  const Kernel k = by_warps(product(false), true, slabs);
  for (const char* n : {"64", "75"})
    for (const char* m : {"16", "21"})
      for (const char* l : {"12", "5", "3"})
        run_everywhere(k, product(false), {{"n", n}, {"m", m}, {"l", l}});
}

TEST_CASE("matrix units: through copies in local memory") {
  Kernel k = step(product(false), "assume",
                  {word("n mod 32 = 0 and m mod 8 = 0 and l mod 4 = 0 and n >= 32 and m >= 8")});
  k = by_warps(k, true, {});
  const auto fetch = [&](const char* array, const char* sweep) {
    k = step(k, "add_prefetch", {word(array), word(sweep)}, {{"default_tag", word("l.auto")}});
  };
  fetch("a", "i_inner_outer, i_inner_inner_outer, i_inner_inner_inner, k_inner");
  fetch("b", "k_inner, j_inner_outer, j_inner_inner");
  run_everywhere(k, product(false), {{"n", "64"}, {"m", "16"}, {"l", "12"}});
  const std::string source = generate(k, Target::Cuda).source;
  CHECK(source.find(", a_fetch[") != std::string::npos);
  CHECK(test::count(source, "__syncthreads") == 2);
}
