#include "cli/loaded.h"

#include <algorithm>

#include "core/diagnostic.h"
#include "core/value.h"

namespace moonloop::cli {
namespace {

/// A kernel that a script made itself was first seen when its first transform began; of several
/// under one name it is the one with the same first step.
const Kernel* made_by_script(const std::vector<std::pair<Kernel, Step>>& first_seen,
                             const Kernel& result) {
  const auto text = [](const Step& s) {
    return s.name + to_lua(Value{s.positional}) + to_lua(Value{s.options});
  };
  const Kernel* found = nullptr;
  for (const auto& [before, step] : first_seen)
    if (before.name == result.name && text(step) == text(result.trace.front())) found = &before;
  return found;
}

}  // namespace

Loaded load_with_original(const Common& common, bool needed) {
  std::vector<Kernel> before;
  std::vector<std::pair<Kernel, Step>> first_seen;
  const std::vector<Kernel> all = load_kernels(
      common,
      [&](const StepReport& r) {
        if (r.before.trace.empty()) first_seen.emplace_back(r.before, r.step);
      },
      &before);
  Kernel kernel = pick_kernel(common, all);
  const auto same_name = std::find_if(before.begin(), before.end(),
                                      [&](const Kernel& k) { return k.name == kernel.name; });
  Kernel original = kernel;
  if (!common.input.ends_with(".lua") && same_name != before.end()) {
    original = *same_name;
  } else if (!kernel.trace.empty()) {
    if (const Kernel* made = made_by_script(first_seen, kernel))
      original = *made;
    else if (needed)
      fail("cannot-verify", kernel.at, "what kernel `{}` was before its transforms is not known",
           kernel.name);
  }
  return {std::move(kernel), std::move(original)};
}

}  // namespace moonloop::cli
