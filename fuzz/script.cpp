#include "scripts/script.h"

#include <cstddef>
#include <cstdint>

#include "frontends/text/parse.h"

/// Any bytes as a transform script for a small kernel, in the sandbox with small limits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moonloop;
  if (size > 4096) return 0;
  static const std::vector<Kernel> kernels = parse_kernels(add_source(
      "k.loop",
      "kernel knl\ndomain {[i, j]: 0 <= i < n and 0 <= j < 16}\nc[i] = sum(j, a[i, j]*b[j])\n"));
  ScriptOptions options;
  options.memory = std::size_t{64} << 20;
  options.instructions = 200'000;
  try {
    run_transform_script(add_source("fuzz.lua", {reinterpret_cast<const char*>(data), size}),
                         kernels, options);
  } catch (const Error&) {}
  return 0;
}
