#include "core/rewrite/loop_body.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/order_reference.h"

namespace moonloop {

LoopBody::LoopBody(const Kernel& k, const std::string& iname)
    : k_(k), inside_(k.instructions.size()) {
  const std::shared_ptr<const RunOrder> order = order_of(k);
  const std::vector<int> owner = owners(k, *order);
  for (int s = 0; s < order->size(); ++s) {
    const std::vector<std::string>& loops = order->loops(s);
    const auto at = std::find(loops.begin(), loops.end(), iname);
    if (at == loops.end()) continue;
    const auto n = std::size_t(owner[std::size_t(s)]);
    if (inside_[n].empty()) members_.push_back(n);
    inside_[n].insert(at, loops.end());
  }
  std::sort(members_.begin(), members_.end());
}

std::set<std::string> LoopBody::own() const {
  std::set<std::string> out;
  for (const std::size_t n : members_) out.merge(own(n));
  return out;
}

std::set<std::string> LoopBody::own(std::size_t n) const {
  std::set<std::string> out = inside_[n], apart;
  std::set<const Domain*> dependent;
  for (const std::string& i : all_inames(k_, *k_.instructions[n])) {
    if (!in_team(k_.tag(i))) continue;
    const bool depends = !inames_bounding(k_, {i}, &inside_[n]).empty();
    (depends ? out : apart).insert(i);
    if (depends) dependent.insert(k_.home_of(i));
  }
  for (const std::string& i : apart)
    if (dependent.contains(k_.home_of(i))) out.insert(i);
  return out;
}

}  // namespace moonloop
