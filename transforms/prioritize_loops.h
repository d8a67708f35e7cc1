#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Demands that loops nest in the order given, outer to inner, wherever they meet.
///
///     for i: for j: c[i, j] = 1   with {"j", "i"} becomes   for j: for i: c[i, j] = 1
///
/// Demands add up; they hold for all later steps.
/// Refuses  unknown-iname   no such iname
///          bad-priority    an iname occurs twice
///          cannot-nest     no nest satisfies all demands
///          breaks-order    the nest would run a dependence backwards
Kernel prioritize_loops(const Kernel& k, const std::vector<std::string>& loop_priority,
                        Proof proof = Proof::Made);

}  // namespace moonloop
