#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// The iterations of a loop in which something runs.
struct LoopValues {
  std::vector<std::string> around;  // the loops around it
  Set points;                       // over these and the loop, last; perhaps more, where conditions
                                    // depend on data
};

/// Of all statements in the loop; nothing without any. Conditions of statements and bounds of loops
/// in it count. Cost: a projection for each statement.
std::optional<LoopValues> loop_values(const Kernel& k, const std::string& iname);

/// The first of them, where that is one affine expression of parameters and the loops around. Cost:
/// a parametric minimum besides.
std::optional<Aff> first_value(const Kernel& k, const std::string& iname);

}  // namespace moonloop
