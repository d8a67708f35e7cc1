#include <algorithm>

#include "core/base/graph.h"
#include "core/order/order_reference.h"

/// The order of the list that expresses what a loop tree does.
namespace moonloop {

std::vector<int> owners(const Kernel& k, const RunOrder& order) {
  std::vector<int> out;
  out.reserve(std::size_t(order.size()));
  std::size_t next = 0;
  for (int s = 0; s < order.size(); ++s) {
    ensure(next < k.instructions.size(), "list order: a part without its instruction");
    out.push_back(static_cast<int>(next));
    const Instruction &part = order.insn(s), &whole = *k.instructions[next];
    if (&part == &whole || part.id == whole.id) ++next;
  }
  ensure(next == k.instructions.size(), "list order: an instruction without a statement");
  return out;
}

bool parts_stand_apart(const RunOrder& order, const std::vector<int>& owner) {
  std::vector<bool> left(owner.size());
  int last = -1;
  for (const int s : order.by_position()) {
    const int now = owner[std::size_t(s)];
    if (now == last) continue;
    if (left[std::size_t(now)]) return true;
    if (last >= 0) left[std::size_t(last)] = true;
    last = now;
  }
  return false;
}

std::vector<InsnPtr> linearized(const Kernel& k, const RunOrder& order) {
  const std::vector<int> owner = owners(k, order);
  std::vector<int> rank(k.instructions.size());
  for (int s = 0; s < order.size(); ++s) {
    int& last = rank[std::size_t(owner[std::size_t(s)])];
    last = std::max(last, order.position(s));
  }
  const bool apart = parts_stand_apart(order, owner);
  if (!apart && std::is_sorted(rank.begin(), rank.end())) return k.instructions;
  Edges after(rank.size());
  if (apart) {
    std::map<std::string, int> by_id;
    for (std::size_t i = 0; i < k.instructions.size(); ++i)
      by_id.emplace(k.instructions[i]->id, static_cast<int>(i));
    for (const auto& [id, i] : by_id)
      for (const std::string& d : k.instructions[std::size_t(i)]->depends_on)
        if (const auto before = by_id.find(d); before != by_id.end() && before->second != i)
          after[std::size_t(before->second)].insert(i);
    for (const auto& [s, t] : conflict_chain(order.kernel(), order.by_position())) {
      const int a = owner[std::size_t(s)], b = owner[std::size_t(t)];
      if (a != b) after[std::size_t(a)].insert(b);
    }
  }
  const std::vector<int> sorted = sort_topologically(after, rank);
  if (sorted.size() < rank.size()) {
    const std::vector<int> cycle = find_cycle(after);
    const auto& [a, b] =
        std::pair(k.instructions[std::size_t(cycle[0])], k.instructions[std::size_t(cycle[1])]);
    throw Refused(Diagnostic{
        "parts-alternate",
        fmt::format(
            "the parts of `{}` and `{}` would alternate, which no order of instructions says",
            a->id, b->id),
        {b->at, {}},
        {},
        "realize_reduction makes instructions of the parts"});
  }
  std::vector<InsnPtr> out;
  out.reserve(sorted.size());
  for (const int i : sorted) out.push_back(k.instructions[std::size_t(i)]);
  return out;
}

}  // namespace moonloop
