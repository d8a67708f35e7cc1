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

PlanNode within(PlanNode node, const std::vector<std::string>& lanes) {
  for (const std::string& iname : lanes) {
    PlanNode loop;
    loop.iname = iname;
    loop.children.push_back(std::move(node));
    node = std::move(loop);
  }
  return node;
}

/// The lanes that each have an accumulator of the reduction of their own.
std::vector<std::string> lanes_of(const Plan& plan, const GroupReduction& r) {
  const Instruction& update = *plan.kernel.instructions[static_cast<std::size_t>(r.update)];
  std::vector<std::string> out = lanes_of(plan.kernel, update);
  const auto own = plan.lane_copies.find(written_name(update.lhs[0]));
  std::erase_if(out, [&](const std::string& i) {
    return own == plan.lane_copies.end() ||
           std::find(own->second.begin(), own->second.end(), i) == own->second.end();
  });
  return out;
}

void place(const Plan& plan, std::vector<PlanNode>& nodes) {
  const Kernel& k = plan.kernel;
  std::vector<PlanNode> out;
  for (PlanNode& n : nodes) {
    place(plan, n.children);
    if (n.reduction >= 0) {
      const auto r = static_cast<std::size_t>(n.reduction);
      out.push_back(within(std::move(n), lanes_of(plan, plan.reductions[r])));
      continue;
    }
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
      out.push_back(within(std::move(single), lanes));
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
  const Variables variables(k);
  for (const InsnPtr& i : k.instructions) {
    for (const std::string& n : writes(*i)) use(n, *i);
    for_each_name_read(k, variables, *i, [&](const std::string& n) { use(n, *i); });
  }
  const OwnCopies own(k);
  for (const auto& [name, inames] : around)
    for (const std::string& i : inames)
      if (own.has(name, i)) plan.lane_copies[name].push_back(i);
}

void place_lanes(Plan& plan) { place(plan, plan.roots); }

}  // namespace moonloop
