#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codegen/plan/plan.h"

/// The way from a kernel to a plan: all passes, in order.
namespace moonloop {

/// Called after a pass with its name and a function that returns its result as text.
using SeePass = std::function<void(const std::string& name, const std::function<std::string()>&)>;

struct Lowered {
  std::vector<Parameter> params;  // of the generated function
  Plan plan;
};
/// `k` is any kernel. Fails as complete, check_defined, check_legal and make_plan do. Cost: that of
/// proving and nesting the kernel, and of separating accesses on devices.
Lowered lower(Kernel k, Target target, const SeePass& see = {});

/// The same for a completed kernel, from its nest on: nests it and places its work-items and
/// temporaries; for a device, cuts it into kernels and puts barriers into these. Refuses
/// `unsupported` where the target cannot express it. `reasons`: see Plan.
Plan make_plan(Kernel k, Target target, bool reasons = false);

/// The names of all passes, of all targets, in order.
std::vector<std::string> pass_names();
/// The result of the pass `name`: kernel text, a tree of loops or a plan. Fails `no-pass` where the
/// target does not have it.
std::string show_pass(Kernel k, Target target, const std::string& name);

}  // namespace moonloop
