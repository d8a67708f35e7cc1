#include "scripts/script.h"

#include <cstddef>
#include <cstdint>

#include "core/sets/budget.h"
#include "frontends/text/parse.h"
#include "fuzz/limits.h"

/// Any bytes as a transform script for a small kernel, in the sandbox with small limits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moonloop;
  if (size > 4096) return 0;
  static const std::vector<Kernel> kernels = parse_kernels(add_source(
      "k.loop",
      "kernel knl(n: int32, a: float64[n, 16], b: float64[16], c: float64[n], u: float64[n+1])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < 16}\n"
      "f(x) := 2*u[x]\n"
      "<> acc = sum(j, a[i, j]*b[j])   {id=total}\n"
      "c[i] = acc + f(i) + f(i + 1)    {id=out, tags=last}\n"));
  ScriptOptions options;
  options.memory = std::size_t{64} << 20;
  options.instructions = 200'000;
  const fuzz::InputMemory memory;
  const IslBudget budget(200'000, "reading");  // isl's time is not tested here
  try {
    run_transform_script(add_source("fuzz.lua", {reinterpret_cast<const char*>(data), size}),
                         kernels, options);
  } catch (const Error&) {}
  return 0;
}
