#include "core/address_spaces.h"

#include "core/order.h"

namespace moonloop {

OwnCopies::OwnCopies(const Kernel& k) {
  for (const auto& [name, tag] : k.iname_tags)
    if (is_lane(&tag)) lanes_.insert(name);
  for (const auto& [name, t] : k.temporaries)
    if (t.space == AddressSpace::Auto || t.space == AddressSpace::Private) private_.insert(name);
  items_ = private_;
  for (const InsnPtr& i : k.instructions)
    for (const Expr& target : i->lhs) {
      const std::string& name = written_name(target);
      if (!private_.count(name)) continue;
      std::set<std::string> used;
      collect_vars(target, used);
      for (const std::string& n : used) {
        if (!i->inames.count(n)) continue;
        if (lanes_.count(n)) shared_[n].insert(name);
        if (is_work_item(k.tag(n))) items_.erase(name);
      }
    }
}

bool OwnCopies::has(const std::string& temporary, const std::string& iname) const {
  if (!lanes_.count(iname)) return per_item(temporary);
  const auto it = shared_.find(iname);
  return private_.count(temporary) && (it == shared_.end() || !it->second.count(temporary));
}

}  // namespace moonloop
