#pragma once
#include <map>
#include <string>

#include "core/order/order.h"

/// Integers that a kernel computes, before anything else asks for them, from its scalar arguments
/// alone, such as `last = n - n mod 4`, also under conditions, and in several steps or, each time
/// the same, in a loop. The host of a device knows their values too, so that they may say how many
/// groups there are.
namespace moonloop {

/// By name; over scalar arguments.
using KnownValues = std::map<std::string, Expr>;

/// Those of a completed kernel. Values whose text would be long are left out. Linear.
KnownValues known_values(const Kernel& k);

/// As without_computed (core/order/order.h), but for parameters with known values, which stay.
ApproximateSet without_unknown(const Kernel& k, Set s, const KnownValues& known);

}  // namespace moonloop
