#include <algorithm>
#include <iterator>

#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

DepKind kind_of(const Access& from, const Access& to) {
  if (!from.write) return DepKind::Anti;
  return to.write ? DepKind::Output : DepKind::Flow;
}

}  // namespace

const char* to_string(DepKind kind) {
  switch (kind) {
    case DepKind::Flow: return "flow";
    case DepKind::Anti: return "anti";
    case DepKind::Output: return "output";
  }
  throw InternalError("unknown kind of dependence");
}

DependenceList dependences(const Kernel& k, const std::string& within) {
  const IslBudget budget(kProofOperations,
                         fmt::format("finding the dependences of kernel `{}`", k.name), k.at);
  const Reference r(nest(k));
  DependenceList out{r.order.kernel(), r.order.tree(), {}};
  const auto add = [&](const AccessAt& a, const AccessAt& b) {
    const Access &x = r.at(a), &y = r.at(b);
    const auto &da = r.order.dims(a.insn), &db = r.order.dims(b.insn);
    ApproximateMap pairs = meetings(r.order.kernel(), k, r.variables, x, da, y, db);
    Map& m = pairs.all;
    for (const std::string& i : r.private_to(x.variable, a.insn, b.insn))
      m = equate(std::move(m), std::size_t(std::find(da.begin(), da.end(), i) - da.begin()),
                 std::size_t(std::find(db.begin(), db.end(), i) - db.begin()));
    m = isl_map_intersect(m.take(), r.order.before(a.insn, b.insn, is_never_parallel).take());
    pairs.intersect_domain(r.order.domain(a.insn));
    pairs.intersect_range(r.order.domain(b.insn));
    if (yes(isl_map_is_empty(m.get()))) return;
    out.all.push_back({a.insn, b.insn, kind_of(x, y), x.variable, std::move(m), pairs.exact});
  };
  const auto is_asked = [&](const AccessAt& a) {
    const std::vector<std::string>& loops = r.order.loops(a.insn);
    return within.empty() || std::find(loops.begin(), loops.end(), within) != loops.end();
  };
  for (const auto& [name, accesses] : r.by_variable()) {
    std::vector<AccessAt> all;
    std::copy_if(accesses.begin(), accesses.end(), std::back_inserter(all), is_asked);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i; j < all.size(); ++j) {
        if (!r.at(all[i]).write && !r.at(all[j]).write) continue;
        add(all[i], all[j]);
        if (i != j) add(all[j], all[i]);
      }
  }
  return out;
}

}  // namespace moonloop
