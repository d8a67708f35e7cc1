#include "core/address_spaces.h"

#include "core/order.h"

namespace moonloop {

std::set<std::string> own_per_work_item(const Kernel& k) {
  std::set<std::string> own;
  for (const auto& [name, t] : k.temporaries)
    if (t.space == AddressSpace::Auto || t.space == AddressSpace::Private) own.insert(name);
  for (const InsnPtr& i : k.instructions)
    for (const Expr& target : i->lhs) {
      const std::string& name = written_name(target);
      if (!own.count(name)) continue;
      std::set<std::string> used;
      collect_vars(target, used);
      for (const std::string& n : used)
        if (i->inames.count(n) && is_work_item(k.tag(n))) own.erase(name);
    }
  return own;
}

}  // namespace moonloop
