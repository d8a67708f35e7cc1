#include "runtime/smaller_sizes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "runtime/count.h"

namespace moonloop {
namespace {

/// Operations, where they depend on data the elements of all arrays; nothing where the kernels do
/// not take these values.
std::optional<double> size_of_run(const Kernel& k, const Kernel& original,
                                  const GivenValues& given) {
  try {
    read_scalars(k, given, scalar_names(original));
    const Integers values = integers_of(read_scalars(original, given, scalar_names(k)));
    if (const auto work = count_work(original, values))
      return static_cast<double>(std::max(work->instances, work->flops + work->integer_ops));
    double elements = 0;
    for (const Argument& a : original.args)
      if (a.is_array) elements += static_cast<double>(layout_of(a, values).elements());
    return elements;
  } catch (const Error&) { return std::nullopt; }  // run_kernel() tells why, at the sizes given
}

}  // namespace

GivenValues smaller_sizes(const Kernel& given_kernel, const Kernel& given_original,
                          const GivenValues& given, double most) {
  constexpr std::int64_t small = 16;
  const Kernel k = complete(given_kernel), original = complete(given_original);
  GivenValues allowed = given, next = given;
  std::optional<double> size = size_of_run(k, original, given);
  while (size && *size > most) {
    bool changed = false;
    for (auto& [name, text] : next) {
      std::int64_t n = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, n);
      if (stop != end || error != std::errc() || n <= small) continue;
      text = std::to_string(n / 2);
      changed = true;
    }
    if (!changed) break;
    const auto of_next = size_of_run(k, original, next);
    if (!of_next) continue;  // half of it may be allowed again
    if (*of_next == 0) break;
    allowed = next;
    size = of_next;
  }
  return allowed;
}

}  // namespace moonloop
