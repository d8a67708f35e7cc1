#include "transforms/iname_nesting.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/diagnostic.h"
#include "core/order/tree.h"
#include "core/rewrite/own_loops.h"

namespace moonloop {
namespace {

using Around = std::vector<std::set<std::string>>;  // inames, by instruction

Around around(const Kernel& k) {
  Around out;
  for (const InsnPtr& i : k.instructions) out.push_back(all_inames(k, *i));
  return out;
}

/// How many pairs of loops cross.
int crossings(const std::vector<std::string>& inames, const Around& all) {
  int out = 0;
  for (std::size_t a = 0; a < inames.size(); ++a)
    for (std::size_t b = a + 1; b < inames.size(); ++b) {
      bool both = false, only_a = false, only_b = false;
      for (const std::set<std::string>& loops : all) {
        const bool in_a = loops.contains(inames[a]), in_b = loops.contains(inames[b]);
        both |= in_a && in_b, only_a |= in_a && !in_b, only_b |= in_b && !in_a;
      }
      out += both && only_a && only_b;
    }
  return out;
}

Kernel duplicated(const Kernel& k, const Duplication& d) {
  std::vector<bool> picked;
  for (const InsnPtr& i : k.instructions)
    picked.push_back(std::find(d.ids.begin(), d.ids.end(), i->id) != d.ids.end());
  return with_own_loops(k, {{d.iname, k.fresh_name(d.iname + "_dup")}}, picked);
}

}  // namespace

bool loops_nest(const Kernel& k) {
  try {
    nest(k);
    return true;
  } catch (const Refused& e) {
    if (e.diagnostic().code != "cannot-nest") throw;
    return false;
  }
}

std::string Duplication::within() const {
  std::vector<std::string> all;
  for (const std::string& id : ids) all.push_back("id:" + id);
  return fmt::format("{}", fmt::join(all, " or "));
}

std::vector<Duplication> iname_duplications(const Kernel& k) {
  if (loops_nest(k)) return {};
  const std::vector<std::string> inames = k.inames();
  const Around all = around(k);
  const int before = crossings(inames, all);
  struct Ranked {
    Duplication step;
    int left;
  };
  std::vector<Ranked> out;
  for (const std::string& iname : inames) {
    std::map<std::set<std::string>, std::vector<std::string>> groups;  // in the same loops
    for (std::size_t n = 0; n < all.size(); ++n)
      if (all[n].contains(iname)) groups[all[n]].push_back(k.instructions[n]->id);
    if (groups.size() < 2) continue;  // it would be another name
    for (const auto& [loops, ids] : groups) {
      const Duplication step{iname, ids};
      try {
        const Kernel after = duplicated(k, step);
        const int left = crossings(after.inames(), around(after));
        const bool nests = left < before && loops_nest(after);
        if (left < before) out.push_back({step, nests ? -1 : left});
      } catch (const Refused&) {}  // bounds of other loops need that one
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Ranked& a, const Ranked& b) { return a.left < b.left; });
  std::vector<Duplication> steps;
  for (Ranked& r : out) steps.push_back(std::move(r.step));
  return steps;
}

}  // namespace moonloop
