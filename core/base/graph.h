#pragma once
#include <set>
#include <vector>

namespace moonloop {

using Edges = std::vector<std::set<int>>;  // node -> nodes that come after it

/// Kahn's algorithm; among ready nodes the one with the smallest rank goes first. When the edges
/// have a cycle, the result holds only what comes before it.
std::vector<int> sort_topologically(const Edges& after, const std::vector<int>& rank);
/// Some cycle of a graph that has one, in edge order.
std::vector<int> find_cycle(const Edges& after);

}  // namespace moonloop
