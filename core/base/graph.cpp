#include "core/base/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace moonloop {

std::vector<int> sort_topologically(const Edges& after, const std::vector<int>& rank) {
  const int n = static_cast<int>(after.size());
  std::vector<int> missing(n, 0);
  for (const auto& targets : after)
    for (int t : targets) ++missing[t];
  using Item = std::pair<int, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  for (int i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push({rank[i], i});
  std::vector<int> order;
  order.reserve(n);
  while (!ready.empty()) {
    const int i = ready.top().second;
    ready.pop();
    order.push_back(i);
    for (int t : after[i])
      if (--missing[t] == 0) ready.push({rank[t], t});
  }
  return order;
}

std::vector<int> find_cycle(const Edges& after) {
  const int n = static_cast<int>(after.size());
  // Repeatedly drop nodes without a successor; all remaining ones lie on or lead into a cycle.
  std::vector<int> out(n);
  Edges before(n);
  for (int i = 0; i < n; ++i) {
    out[i] = static_cast<int>(after[i].size());
    for (int t : after[i]) before[t].insert(i);
  }
  std::vector<bool> gone(n, false);
  std::vector<int> work;
  for (int i = 0; i < n; ++i)
    if (out[i] == 0) work.push_back(i);
  while (!work.empty()) {
    const int i = work.back();
    work.pop_back();
    gone[i] = true;
    for (int s : before[i])
      if (--out[s] == 0) work.push_back(s);
  }
  const int start = static_cast<int>(std::find(gone.begin(), gone.end(), false) - gone.begin());
  std::vector<int> path, at(n, -1);
  for (int i = start; at[i] < 0;) {
    at[i] = static_cast<int>(path.size());
    path.push_back(i);
    i = *std::find_if(after[i].begin(), after[i].end(), [&](int t) { return !gone[t]; });
    if (at[i] >= 0) return {path.begin() + at[i], path.end()};
  }
  return path;
}

}  // namespace moonloop
