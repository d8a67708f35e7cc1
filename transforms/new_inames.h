#pragma once
#include <set>
#include <string>

#include "core/model/lookup.h"

namespace moonloop {

/// Names of the inames that one transform makes: those that the caller chose, else free ones.
class NewInames {
 public:
  explicit NewInames(const Kernel& k) : k_(k) {}

  /// `wanted`, or when it is empty a free name made from `base`. Fails as require_new_name does,
  /// also when a name was given out before.
  std::string take(const std::string& wanted, const std::string& base) {
    if (!wanted.empty()) {
      require_new_name(k_, wanted);
      if (!taken_.insert(wanted).second)
        fail("name-taken", k_.at, "two new inames are named `{}`", wanted);
      return wanted;
    }
    std::string name = k_.fresh_name(base);
    for (int n = 0; !taken_.insert(name).second; ++n)
      name = k_.fresh_name(base + "_" + std::to_string(n));
    return name;
  }

 private:
  const Kernel& k_;
  std::set<std::string> taken_;
};

}  // namespace moonloop
