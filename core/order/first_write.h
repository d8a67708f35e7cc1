#pragma once
#include <functional>
#include <span>

#include "core/order/order.h"

namespace moonloop {

/// Whether a scalar has a value of its own in each iteration of some loops: the first of its uses
/// writes it, all of it, wherever any of them runs. `uses`: statements, in order of execution, all
/// that access it in such an iteration; the first of them is in no further loop. `between`: the
/// first, and what may run after it and before another one; only asked for where the first has
/// predicates, which none of these may change. Cost: linear, without isl.
bool begins_with_write(const Kernel& k, const Temporary& scalar, const Variables& variables,
                       std::span<const int> uses,
                       const std::function<std::span<const int>()>& between);

}  // namespace moonloop
