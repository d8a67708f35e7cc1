#pragma once
#include "codegen/plan/plan.h"

namespace moonloop {

/// Leaves out groups of a launch that have nothing to do in the present iteration of the host's
/// loops around it, at either end of an axis along which all statements are spread (`spread`): sets
/// `groups` and `skipped`. Loops whose bounds do not depend on these loops stay as they are, as do
/// those whose bounds take many cases. A few isl calls for each such axis.
void leave_out_idle_groups(const Plan& plan, LaunchPlan& launch, const std::array<bool, 3>& spread);

}  // namespace moonloop
