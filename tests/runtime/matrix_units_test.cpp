// `mma` on every target that runs here; on CUDA by the matrix units.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::run_everywhere;
using test::split;
using test::step;
using test::word;

namespace {

Kernel product(bool transposed, const std::string& type = "float64",
               const std::string& sum = "float64") {
  const std::string left = type == sum ? "a[i, k]" : "cast(" + sum + ", a[i, k])";
  return parsed("\nkernel product(n: int32, m: int32, l: int32, a: " + type + "[n, l], b: " + type +
                (transposed ? "[m, l]" : "[l, m]") + ", c: inout " + sum + R"([n, m])
domain {[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}
c[i, j] = 2*c[i, j] + sum(k, )" +
                left + "*b[" + (transposed ? "j, k" : "k, j") + "])\n");
}

/// Warps of 4 by 8 work-items, each with two columns and, of 16 rows, two rows.
Kernel by_warps(Kernel k, bool halves, const ValueDict& slabs, int depth = 4,
                const char* unit = "mma") {
  k = split(k, "i", halves ? 32 : 16, "g.1", "", slabs);
  if (halves) {
    k = split(k, "i_inner", 16, "l.2", "");
    k = split(k, "i_inner_inner", 8, "ilp", "l.1");
  } else {
    k = split(k, "i_inner", 8, "l.2", "l.1");
  }
  k = split(k, "j", 8, "g.0", "", slabs);
  k = split(k, "j_inner", 2, "l.0", "vec");
  return split(k, "k", depth, "", unit, slabs);
}

/// The units of other types than float64.
struct Unit {
  const char *type, *sum, *tag;
  int depth;
  const char* function;
};
constexpr Unit kUnits[] = {
    {"float16", "float32", "mma", 16, "mma_16x8x16_f16("},
    {"float16", "float32", "mma", 8, "mma_16x8x8_f16("},
    {"int8", "int32", "mma", 32, "mma_16x8x32_s8("},
    {"uint8", "int32", "mma", 16, "mma_16x8x16_u8("},
    {"float32", "float32", "mma.tf32", 8, "mma_16x8x8_tf32("},
    {"float32", "float32", "mma.tf32", 4, "mma_16x8x4_tf32("},
};

/// Tiles of a and b in local memory, rows of both 16 bytes longer than they are.
Kernel with_tiles(Kernel k, const Unit& u, bool transposed) {
  const auto fetch = [&](const char* array, const char* sweep) {
    k = step(k, "add_prefetch", {word(array), word(sweep)}, {{"default_tag", word("l.auto")}});
  };
  fetch("a", "i_inner_outer, i_inner_inner_outer, i_inner_inner_inner, k_inner");
  fetch("b", "k_inner, j_inner_outer, j_inner_inner");
  const int gap = 16 / static_cast<int>(size_of(parse_scalar(u.type).value()));
  const auto pad = [&](const char* array, int row) {
    k = step(k, "tag_array_axes",
             {word(array), word("N1, N0(pad=" + std::to_string(row + gap) + ")")});
  };
  pad("a_fetch", u.depth);
  pad("b_fetch", transposed ? u.depth : 8);
  return k;
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

/// On C and, where the tests run there, on CUDA; other devices unroll the loop as they do for
/// doubles, above, which their compilers take long for.
void run_units(const Kernel& k, const Kernel& plain, const GivenValues& params) {
  test::run_on(Target::C, k, plain, params);
  if (test::device_target() == Target::Cuda) test::run_on(Target::Cuda, k, plain, params);
}

TEST_CASE("matrix units: halves, bytes and singles rounded to tf32") {
  for (const Unit& u : kUnits)
    for (const bool transposed : {false, true}) {
      CAPTURE(u.function);
      const Kernel plain = product(transposed, u.type, u.sum);
      Kernel k = step(plain, "assume",
                      {word("n mod 32 = 0 and m mod 8 = 0 and l mod 32 = 0 and n >= 32 and m >= 8 "
                            "and l >= 32")});
      k = by_warps(k, true, {}, u.depth, u.tag);
      run_units(k, plain, {{"n", "64"}, {"m", "24"}, {"l", "96"}});
      CHECK(test::count(generate(k, Target::Cuda).source, u.function) == 2);
      // The same through local memory.
      k = with_tiles(k, u, transposed);
      run_units(k, plain, {{"n", "64"}, {"m", "24"}, {"l", "96"}});
      const std::string source = generate(k, Target::Cuda).source;
      test::cuda_programs().insert(source);  // nvcc compiles them
      CHECK(test::count(source, u.function) == 2);
      CHECK(test::count(source, "  load_matrices_") ==
            (transposed || std::string(u.type) == "float16" ? 2 : 1));
    }
}

TEST_CASE("matrix units: parts of tiles of halves and bytes run by themselves") {
  const ValueDict slabs{
      {"slabs", Value{ValueList{Value{std::int64_t{0}}, Value{std::int64_t{1}}}}}};
  for (const Unit& u : {kUnits[1], kUnits[3]}) {
    const Kernel plain = product(false, u.type, u.sum);
    const Kernel k = by_warps(plain, true, slabs, u.depth, u.tag);
    for (const char* n : {"64", "75"})
      for (const char* l : {"32", "21", "3"})
        run_units(k, plain, {{"n", n}, {"m", "21"}, {"l", l}});
    test::cuda_programs().insert(generate(k, Target::Cuda).source);
  }
}
