#pragma once
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// What has to hold for a kernel of the device to do anything, over integer arguments, the inames
/// of the host's loops around it and what the host knows (`Plan::known`): each of its instructions
/// runs only where such predicates of it hold. Null where an instruction has none. Linear, without
/// isl.
Expr launch_condition(const Plan& plan, const Launch& launch);

}  // namespace moonloop
