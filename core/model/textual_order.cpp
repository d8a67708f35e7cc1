#include "core/model/textual_order.h"

#include <algorithm>
#include <numeric>

#include "core/base/graph.h"
#include "core/base/name_index.h"

namespace moonloop {

std::vector<std::pair<int, int>> dependencies(const Kernel& k) {
  std::vector<std::pair<int, int>> out;
  if (std::all_of(k.instructions.begin(), k.instructions.end(),
                  [](const InsnPtr& i) { return i->depends_on.empty(); }))
    return out;
  NameIndex number(k.instructions.size());
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    number.add(k.instructions[i]->id, static_cast<int>(i));
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    for (const std::string& d : k.instructions[i]->depends_on)
      if (const int first = number.find(d); first >= 0) out.push_back({first, static_cast<int>(i)});
  return out;
}

std::vector<int> textual_order(const Kernel& k) {
  const int n = static_cast<int>(k.instructions.size());
  std::vector<int> rank(n);
  std::iota(rank.begin(), rank.end(), 0);
  const std::vector<std::pair<int, int>> demanded = dependencies(k);
  if (std::all_of(demanded.begin(), demanded.end(),
                  [](const auto& e) { return e.first < e.second; }))
    return rank;  // the list has that order
  Edges after(n);
  for (const auto& [first, second] : demanded) after[first].insert(second);
  std::vector<int> order = sort_topologically(after, rank);
  if (order.size() == k.instructions.size()) return order;
  std::string text;
  const std::vector<int> cycle = find_cycle(after);
  for (int c : cycle) text += "`" + k.instructions[c]->id + "` before ";
  refuse("dependency-cycle", k.instructions[cycle[0]]->at,
         "instructions depend on each other: {}`{}`", text, k.instructions[cycle[0]]->id);
}

}  // namespace moonloop
