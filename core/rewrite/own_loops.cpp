#include "core/rewrite/own_loops.h"

#include <algorithm>
#include <map>

#include "core/rewrite/iname_rewrite.h"

namespace moonloop {
namespace {

/// Old and new inames by domain; a domain whose bounds depend on another's inames comes before it.
std::vector<InameCopies> by_domain(const Kernel& k, const InameCopies& pairs) {
  const std::vector<int> parents = domain_parents(k);
  const auto depth = [&](int d) {
    int n = 0;
    for (; d >= 0; d = parents[std::size_t(d)]) ++n;
    return n;
  };
  std::map<std::pair<int, int>, InameCopies> groups;  // by depth, deepest first, then by domain
  for (const auto& p : pairs) {
    const int home = static_cast<int>(k.home_of(p.first) - k.domains.data());
    groups[{-depth(home), home}].push_back(p);
  }
  std::vector<InameCopies> out;
  for (auto& [key, group] : groups) {
    const std::vector<std::string> order = k.domains[std::size_t(key.second)].inames();
    std::sort(group.begin(), group.end(), [&](const auto& a, const auto& b) {
      return std::find(order.begin(), order.end(), a.first) <
             std::find(order.begin(), order.end(), b.first);
    });
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace

Kernel with_own_loops(const Kernel& k, const InameCopies& copies, const std::vector<bool>& picked) {
  Kernel out = k;
  for (const InameCopies& group : by_domain(k, copies))
    out = rewrite_inames(out, renamed_inames(group), picked);
  return out;
}

}  // namespace moonloop
