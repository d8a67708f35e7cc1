#include <algorithm>

#include "codegen/plan.h"
#include "core/address_spaces.h"
#include "core/order.h"

// Inames tagged `ilp` and `vec`: a statement runs for all their values before the next one does.
namespace moonloop {
namespace {

/// By instruction, its lanes, innermost first: `vec`, then `ilp` in the order of the loops.
std::vector<std::string> lanes_of(const Kernel& k, const Instruction& insn) {
  std::vector<std::string> out;
  for (const std::string& n : insn.inames)
    if (is_lane(k.tag(n))) out.push_back(n);
  const auto rank = [&](const std::string& n) {
    const auto at = std::find(k.loop_order.begin(), k.loop_order.end(), n);
    return std::pair(k.tag(n)->kind == TagKind::Ilp, k.loop_order.end() - at);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return out;
}

void place(const Kernel& k, std::vector<PlanNode>& nodes) {
  std::vector<PlanNode> out;
  for (PlanNode& n : nodes) {
    place(k, n.children);
    if (!n.is_statements()) {
      out.push_back(std::move(n));
      continue;
    }
    for (int i : n.insns) {
      const std::vector<std::string> lanes =
          lanes_of(k, *k.instructions[static_cast<std::size_t>(i)]);
      if (lanes.empty() && !out.empty() && out.back().is_statements()) {
        out.back().insns.push_back(i);
        continue;
      }
      PlanNode single;
      single.insns = {i};
      for (const std::string& iname : lanes) {
        PlanNode loop;
        loop.iname = iname;
        loop.children.push_back(std::move(single));
        single = std::move(loop);
      }
      out.push_back(std::move(single));
    }
  }
  nodes = std::move(out);
}

}  // namespace

void find_lane_copies(Plan& plan) {
  const Kernel& k = plan.kernel;
  std::set<std::string> lanes;
  for (const auto& [name, tag] : k.iname_tags)
    if (is_lane(&tag)) lanes.insert(name);
  if (lanes.empty()) return;
  std::map<std::string, std::set<std::string>> around;  // by temporary, of all its uses
  const auto use = [&](const std::string& name, const Instruction& insn) {
    if (!k.find_temporary(name)) return;
    const auto [it, fresh] = around.emplace(name, lanes);
    std::erase_if(it->second, [&](const std::string& i) { return !insn.inames.count(i); });
  };
  for (const InsnPtr& i : k.instructions) {
    for (const std::string& n : writes(*i)) use(n, *i);
    for_each_read(k, *i, [&](const std::string& n) { use(n, *i); });
  }
  const OwnCopies own(k);
  for (const auto& [name, inames] : around)
    for (const std::string& i : inames)
      if (own.has(name, i)) plan.lane_copies[name].push_back(i);
}

void place_lanes(const Kernel& k, std::vector<PlanNode>& roots) { place(k, roots); }

}  // namespace moonloop
