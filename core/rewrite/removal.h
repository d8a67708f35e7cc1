#pragma once
#include <set>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// `k` without the instructions `ids`. Dependences on one of them become dependences on those that
/// it depended on. Linear.
Kernel without_instructions(const Kernel& k, const std::set<std::string>& ids);

/// `k` without the domains of inames that are all among `replaced` and that no instruction, rule or
/// other domain uses any more. Linear.
Kernel without_idle_domains(Kernel k, const std::set<std::string>& replaced);

/// The end of a transform that removes instructions or changes their reads, and has proved that the
/// values stay: `after`, all of whose instructions `before` has too, as its own reference, checked,
/// its instructions listed in the order in which they run. Refuses `changes-order` when its tree
/// would run them in another order or in other loops.
Kernel in_order_of(const Kernel& before, Kernel after);

}  // namespace moonloop
