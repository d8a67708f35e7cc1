#include "codegen/plan.h"

#include <algorithm>

namespace moonloop {
namespace {

PlanNode from_tree(const TreeNode& node);

std::vector<PlanNode> from_trees(const std::vector<TreeNode>& nodes) {
  std::vector<PlanNode> out;
  for (const TreeNode& n : nodes) {
    const bool join = !n.is_loop() && !out.empty() && !out.back().is_loop();
    if (join) {
      out.back().insns.push_back(n.insn);
    } else {
      out.push_back(from_tree(n));
    }
  }
  return out;
}

PlanNode from_tree(const TreeNode& node) {
  PlanNode out;
  out.iname = node.iname;
  if (node.is_loop()) {
    out.children = from_trees(node.children);
  } else {
    out.insns = {node.insn};
  }
  return out;
}

void check_supported(const Kernel& k, Target target) {
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == TagKind::Vec || tag.kind == TagKind::Ilp)
      fail("unsupported", tag.at ? tag.at : k.at,
           "iname `{}` is tagged `{}`, which target `{}` does not support yet", iname, tag.text,
           to_string(target));
  for (const InsnPtr& insn : k.instructions)
    if (insn->kind == InsnKind::Barrier && insn->barrier == BarrierScope::Global)
      fail("unsupported", insn->at, "instruction `{}`: global barriers are not supported yet",
           insn->id);
}

/// Numbers the nodes and records the loops around each instruction.
class Numbering {
 public:
  explicit Numbering(Plan& plan) : plan_(plan) {
    plan_.loops_of.resize(plan.kernel.instructions.size());
    plan_.nodes_of.resize(plan.kernel.instructions.size());
  }
  void visit(std::vector<PlanNode>& nodes) {
    for (PlanNode& n : nodes) {
      n.id = next_++;
      for (int i : n.insns) {
        plan_.loops_of[static_cast<std::size_t>(i)] = loops_;
        plan_.nodes_of[static_cast<std::size_t>(i)] = ids_;
      }
      if (!n.is_loop()) continue;
      loops_.push_back(n.iname);
      ids_.push_back(n.id);
      visit(n.children);
      loops_.pop_back();
      ids_.pop_back();
    }
  }

 private:
  Plan& plan_;
  std::vector<std::string> loops_;
  std::vector<int> ids_;
  int next_ = 0;
};

/// Marks the subtrees whose bounds need temporaries that are computed within the enclosing loops.
class Cutter {
 public:
  explicit Cutter(const Plan& plan) : plan_(plan) {
    for (const Domain& d : plan.kernel.domains)
      for (const std::string& p : d.params())
        if (plan.kernel.find_temporary(p))
          for (const std::string& iname : d.inames()) needs_[iname].insert(p);
    if (needs_.empty()) return;
    for (std::size_t i = 0; i < plan.kernel.instructions.size(); ++i)
      for (const std::string& name : writes(*plan.kernel.instructions[i]))
        if (plan.kernel.find_temporary(name)) writers_[name].push_back(i);
  }
  void visit(std::vector<PlanNode>& nodes) {
    if (needs_.empty()) return;
    for (PlanNode& n : nodes) {
      if (!n.is_loop()) continue;
      path_.push_back(&n);
      cut_for(n);
      visit(n.children);
      path_.pop_back();
    }
  }

 private:
  void cut_for(const PlanNode& n) {
    const auto it = needs_.find(n.iname);
    if (it == needs_.end()) return;
    for (const std::string& t : it->second)
      for (std::size_t w : writers_[t]) {
        const std::vector<int>& around = plan_.nodes_of[w];
        std::size_t shared = 0;
        while (shared < around.size() && shared < path_.size() &&
               around[shared] == path_[shared]->id)
          ++shared;
        if (shared == path_.size())
          fail("cannot-nest", plan_.kernel.instructions[w]->at,
               "instruction `{}` writes `{}` inside the loop `{}`, whose bounds need it",
               plan_.kernel.instructions[w]->id, t, n.iname);
        path_[shared]->separate = true;
      }
  }

  const Plan& plan_;
  std::map<std::string, std::set<std::string>> needs_;
  std::map<std::string, std::vector<std::size_t>> writers_;
  std::vector<PlanNode*> path_;
};

void print(const Plan& plan, const std::vector<PlanNode>& nodes, int depth, std::string& out) {
  for (const PlanNode& n : nodes) {
    out.append(static_cast<std::size_t>(2 * depth), ' ');
    if (n.is_loop()) {
      out += n.separate ? "separate " + n.iname + "\n" : n.iname + "\n";
      print(plan, n.children, depth + 1, out);
      continue;
    }
    for (int i : n.insns) {
      if (i != n.insns.front()) out += ", ";
      out += plan.kernel.instructions[static_cast<std::size_t>(i)]->id;
    }
    out += "\n";
  }
}

}  // namespace

Plan make_plan(const Nested& nested, Target target) {
  check_supported(nested.kernel, target);
  Plan plan;
  plan.kernel = nested.kernel;
  plan.target = target;
  WorkItems items = place_work_items(nested.kernel, from_trees(nested.tree.roots));
  plan.roots = std::move(items.roots);
  plan.expansions = std::move(items.expansions);
  Numbering(plan).visit(plan.roots);
  Cutter(plan).visit(plan.roots);
  return plan;
}

std::string print_plan(const Plan& plan) {
  std::string out;
  print(plan, plan.roots, 0, out);
  return out;
}

}  // namespace moonloop
