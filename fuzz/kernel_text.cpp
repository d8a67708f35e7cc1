#include <cstddef>
#include <cstdint>

#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/tree.h"
#include "core/sets/budget.h"
#include "core/sets/isl.h"
#include "frontends/text/parse.h"
#include "fuzz/limits.h"

/// Any bytes as kernel text: parsed, completed, nested, printed and parsed again; a failure is an
/// Error, nothing else.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moonloop;
  if (size > 4096) return 0;
  const fuzz::InputMemory memory;
  const IslBudget budget(20000, "reading");  // isl's time is not tested here
  try {
    for (const Kernel& k :
         parse_kernels(add_source("fuzz.loop", {reinterpret_cast<const char*>(data), size}))) {
      parse_kernels(add_source("printed.loop", print_kernel(k)));
      nest(complete(k));
    }
  } catch (const Error&) {}
  return 0;
}
