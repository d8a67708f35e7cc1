#pragma once
#include <set>
#include <vector>

#include "core/kernel.h"

namespace moonloop {

using Edges = std::vector<std::set<int>>;  // node -> nodes that come after it

/// Kahn's algorithm; among ready nodes the one with the smallest rank goes first. When the edges
/// have a cycle, the result holds only what stands before it.
std::vector<int> sort_topologically(const Edges& after, const std::vector<int>& rank);
/// Some cycle of a graph that has one, in edge order.
std::vector<int> find_cycle(const Edges& after);

/// Instruction indices in list order, moved only as `depends_on` demands. Refuses
/// `dependency-cycle`.
std::vector<int> textual_order(const Kernel& k);

}  // namespace moonloop
