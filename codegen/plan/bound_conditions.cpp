#include "codegen/plan/bound_conditions.h"

#include <algorithm>

namespace moonloop {

BoundConditions::BoundConditions(const Kernel& k, const Domains& domains)
    : k_(k), domains_(domains) {
  if (domains.data().empty()) return;
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    for (const std::string& w : writes(*k.instructions[i]))
      if (domains.data().count(w)) writers_[w].push_back(static_cast<int>(i));
}

void BoundConditions::collect(const PlanNode& node, std::vector<int>& insns,
                              std::set<std::string>& changed) const {
  if (node.is_loop()) changed.insert(node.iname());
  for (int i : node.insns()) {
    insns.push_back(i);
    changed.merge(writes(*k_.instructions[static_cast<std::size_t>(i)]));
  }
  for (const PlanNode& c : node.children) collect(c, insns, changed);
}

Exprs BoundConditions::of(const PlanNode& loop, const std::set<std::string>& fixed) const {
  const std::vector<std::string> bounds = domains_.data_of(loop.iname());
  if (bounds.empty()) return {};
  std::vector<int> sharing;
  std::set<std::string> changed;  // inames of loops, and what statements write
  collect(loop, sharing, changed);
  for (const std::string& iname : fixed)
    if (iname != loop.iname()) changed.erase(iname);
  if (sharing.empty()) return {};
  const auto predicates = [&](int i) -> const Exprs& {
    return k_.instructions[static_cast<std::size_t>(i)]->predicates;
  };
  const int first = sharing[0];
  for (const std::string& t : bounds)
    if (const auto w = writers_.find(t); w != writers_.end())
      sharing.insert(sharing.end(), w->second.begin(), w->second.end());
  Exprs out;
  for (const Expr& p : predicates(first)) {
    std::set<std::string> names;
    collect_reads(p, names);
    bool stays = std::none_of(names.begin(), names.end(),
                              [&](const std::string& n) { return changed.count(n) != 0; });
    for (int i : sharing) {
      const Exprs& has = predicates(i);
      stays =
          stays && std::any_of(has.begin(), has.end(), [&](const Expr& q) { return equal(p, q); });
    }
    if (stays) out.push_back(p);
  }
  return out;
}

}  // namespace moonloop
