#include "tests/codegen/kit.h"
#include "transforms/registry.h"

using namespace moonloop;

namespace {

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

/// Sums of what a group has in local memory, `value` of it, with so many stages; 0: as it is.
std::string staged(int stages, Target target = Target::Cuda, const std::string& value = "a[k, j]",
                   const std::string& type = "float64") {
  Kernel k = kernel("kernel f(n: int32, a: " + type + "[n, 64], b: float64[64])\n" + R"(
domain {[k]: 0 <= k < n}
domain {[j]: 0 <= j < 64}
domain {[i]: 0 <= i < 64}
domain {[o]: 0 <= o < 64}
temp t: float64[64] in local
temp s: float64
s = 0 {inames=i}
t[j] = )" + value + R"( {id=fetch, inames=k:j}
s = s + t[63 - i] {id=use, inames=k:i, dep=fetch}
b[i] = s {inames=i, dep=use}
)",
                    {{"j", "l.0"}, {"i", "l.0"}});
  if (stages > 0)
    k = run_op(*find_op("pipeline"), k, {Value{std::string("k")}},
               {{"stages", Value{std::int64_t{stages}}}});
  return generate(k, target).source;
}

}  // namespace

TEST_CASE("copies ahead: CUDA waits for them at the end of the iteration before") {
  const std::string two = staged(2), three = staged(3);
  CHECK(count(two, "copy_ahead(&t[") == 1);
  CHECK(two.find("await_copies<0>();\n    __syncthreads();\n  }") != std::string::npos);
  CHECK(three.find("await_copies<1>();\n    __syncthreads();\n  }") != std::string::npos);
  // One barrier before the loop, for the first ones, and one in each iteration.
  CHECK(count(two, "__syncthreads();") == 2);
  // What may not be there is zero.
  const std::string some = staged(2, Target::Cuda, "a[k, j] if k + j < n else 0");
  CHECK(some.find("copy_ahead(&t[j + 64*((k + 1) % 2)], &a[64*(long long)(k + 1) + j], "
                  "k + 1 + j < n);") != std::string::npos);
}

TEST_CASE("copies ahead: only what is copied as it is, and not needed at once") {
  CHECK(staged(0).find("copy_ahead") == std::string::npos);
  CHECK(staged(2, Target::OpenCL).find("copy_ahead") == std::string::npos);
  CHECK(staged(2, Target::Cuda, "2*a[k, j]").find("copy_ahead") == std::string::npos);
  CHECK(staged(2, Target::Cuda, "a[k, j] if k + j < n else 1").find("copy_ahead") ==
        std::string::npos);
  CHECK(staged(2, Target::Cuda, "a[k, j]", "float32").find("copy_ahead") == std::string::npos);
}

TEST_CASE("copies ahead: what a `vec` loop copies goes 4, 8 or 16 bytes at once") {
  const auto staged_lanes = [](const std::string& type, int lanes, int gap,
                               const std::string& value = "a[k, L*j + v]") {
    std::string text = R"(
kernel f(n: int32, a: TYPE[n, R], b: TYPE[64])
domain {[k]: 0 <= k < n}
domain {[j, v]: 0 <= j < 8 and 0 <= v < L}
domain {[i]: 0 <= i < 8}
temp t: TYPE[W] in local
temp s: TYPE
s = 0 {inames=i}
t[L*j + v] = VALUE {id=fetch, inames=k:j:v}
s = s + t[7 - i] {id=use, inames=k:i, dep=fetch}
b[i] = s {inames=i, dep=use}
)";
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"VALUE", value},
             {"[n, R]", "[n, " + std::to_string(8 * lanes + gap) + "]"},
             {"[W]", "[" + std::to_string(8 * lanes) + "]"},
             {"L*", std::to_string(lanes) + "*"},
             {"< L}", "< " + std::to_string(lanes) + "}"},
             {"TYPE", type}})
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    const Kernel k =
        run_op(*find_op("pipeline"), kernel(text, {{"j", "l.0"}, {"v", "vec"}, {"i", "l.0"}}),
               {Value{std::string("k")}}, {{"stages", Value{std::int64_t{2}}}});
    return generate(k, Target::Cuda).source;
  };
  const std::string halves = staged_lanes("float16", 8, 0);
  CHECK(count(halves, "  copy_bytes_ahead<uint4>(&t[") == 1);
  CHECK(halves.find("__align__(16) unsigned short t") != std::string::npos);
  CHECK(halves.find("await_copies<0>();") != std::string::npos);
  CHECK(count(staged_lanes("float64", 4, 0), "  copy_bytes_ahead<uint4>(&t[") == 2);
  CHECK(count(staged_lanes("int8", 4, 0), "  copy_bytes_ahead<unsigned>(&t[") == 1);
  // As the shorter of the two places has it.
  CHECK(count(staged_lanes("float16", 8, 4), "  copy_bytes_ahead<uint2>(&t[") == 2);
  CHECK(count(staged_lanes("float32", 4, 1), "  copy_ahead(&t[") == 4);
  CHECK(staged_lanes("float16", 8, 1).find("copy_bytes_ahead") == std::string::npos);
  CHECK(staged_lanes("float16", 8, 0, "a[k, 8*v + j]").find("copy_bytes_ahead") ==
        std::string::npos);
  // All are there, or none.
  CHECK(count(staged_lanes("float16", 8, 0, "a[k, L*j + v] if k + j < n else 0"),
              "  copy_bytes_ahead<uint4>(&t[") == 1);
  CHECK(
      staged_lanes("float16", 8, 0, "a[k, L*j + v] if k + v < n else 0").find("copy_bytes_ahead") ==
      std::string::npos);
}
