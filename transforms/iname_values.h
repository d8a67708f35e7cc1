#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// The least value of an iname and the number of values from there to the largest, for an axis that
/// has an element for each.
struct InameValues {
  Expr first, number;
};
/// Refuses `no-extent` where that is computed in the kernel. Cost: a parametric minimum and
/// maximum.
InameValues values_of(const Kernel& k, const std::string& iname);

}  // namespace moonloop
