#pragma once
#include <optional>
#include <string>

#include "codegen/plan/plan.h"

namespace moonloop {

/// `place = place op other` with an operation that devices have for integers: `add`, `min` or
/// `max`. `other` does not read the place.
struct SimpleUpdate {
  std::string op;
  Expr other;
};
std::optional<SimpleUpdate> simple_update(const Expr& lhs, const Expr& rhs);

/// For a plan for a device, sets `sums`, `locked` and `locks`: the atomic updates without an
/// operation of the hardware, which take turns.
void find_locks(Plan& plan);

}  // namespace moonloop
