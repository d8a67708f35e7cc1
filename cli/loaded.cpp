#include "cli/loaded.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/value.h"
#include "transforms/iname_nesting.h"
#include "transforms/registry.h"

namespace moonloop::cli {
namespace {

using FirstSeen = std::vector<std::pair<Kernel, Step>>;

/// The same kernel, not only an equal one: copies and transformed kernels share statements.
bool is_same(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.instructions == b.instructions;
}

/// `result` before its first transform: among the kernels of its name that were seen when a
/// transform began, the last one with the same first step. Null when there is none.
const Kernel* before_first_step(const FirstSeen& first_seen, const Kernel& result) {
  const Step& first = result.trace.front();
  const auto text = [](const Step& s) {
    return s.name + to_lua(Value{s.positional}) + to_lua(Value{s.options});
  };
  const Kernel *found = nullptr, *elsewhere = nullptr;
  for (const auto& [before, step] : first_seen) {
    if (before.name != result.name || text(step) != text(first)) continue;
    const bool here = step.at.source == first.at.source && step.at.line == first.at.line;
    (here ? found : elsewhere) = &before;
  }
  return found ? found : elsewhere;
}

/// Where loops cannot be nested, there is nothing that the kernel means: it begins with the first
/// steps that mend that.
Kernel nesting(Kernel original, const Kernel& result) {
  for (const Step& s : result.trace) {
    const Op* op = find_op(s.name);
    if (!op || loops_nest(original)) break;
    original = run_op(*op, original, s.positional, s.options, s.at);
  }
  return original;
}

}  // namespace

Loaded load_with_original(const Common& common, bool needed, UsedKnobs* used) {
  std::vector<Kernel> before;
  FirstSeen first_seen;
  const std::vector<Kernel> all = load_kernels(
      common,
      [&](const StepReport& r) {
        if (r.before.trace.empty()) first_seen.emplace_back(r.before, r.step);
      },
      &before, nullptr, nullptr, used);
  Kernel kernel = pick_kernel(common, all);
  const auto given = std::find_if(before.begin(), before.end(),
                                  [&](const Kernel& k) { return k.name == kernel.name; });
  const bool from_file = !common.input.ends_with(".lua") && given != before.end();
  // A script may have put another kernel in the place of the file's: that one is its own original.
  if (kernel.trace.empty()) return {kernel, kernel};
  if (const Kernel* was = before_first_step(first_seen, kernel)) {
    Kernel original = nesting(from_file && is_same(*was, *given) ? *given : *was, kernel);
    return {std::move(kernel), std::move(original)};
  }
  if (from_file && given->trace.empty()) return {std::move(kernel), *given};
  if (needed)
    fail("cannot-verify", kernel.at, "what kernel `{}` was before its transforms is not known",
         kernel.name);
  return {kernel, kernel};
}

}  // namespace moonloop::cli
