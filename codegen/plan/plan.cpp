#include "codegen/plan/plan.h"

#include <algorithm>

#include "codegen/language.h"
#include "codegen/plan/auto_axes.h"
#include "core/model/external.h"
#include "core/order/legality.h"

namespace moonloop {

const std::string& PlanNode::iname() const {
  static const std::string none;
  return loop() ? loop()->iname : none;
}

const std::vector<int>& PlanNode::insns() const {
  static const std::vector<int> none;
  const auto* s = std::get_if<PlanStatements>(&what);
  return s ? s->insns : none;
}

namespace {

PlanNode from_tree(const TreeNode& node);

std::vector<PlanNode> from_trees(const std::vector<TreeNode>& nodes) {
  std::vector<PlanNode> out;
  for (const TreeNode& n : nodes) {
    const bool join = !n.is_loop() && !out.empty() && !out.back().is_loop();
    if (join) {
      out.back().statements().push_back(n.insn);
    } else {
      out.push_back(from_tree(n));
    }
  }
  return out;
}

PlanNode from_tree(const TreeNode& node) {
  return node.is_loop() ? PlanNode::over(node.iname, from_trees(node.children))
                        : PlanNode::of({node.insn});
}

/// Whether the condition may hold for one work-item of a group and not for another: it needs the
/// number of one, or a temporary of its own that is computed from that.
bool differs_by_item(const Kernel& k, const Expr& condition) {
  std::set<std::string> names;
  collect_reads(condition, names);
  const auto has_items = [&](const InsnPtr& i) {
    return std::any_of(i->inames.begin(), i->inames.end(),
                       [&](const std::string& n) { return is_work_item(k.tag(n)); });
  };
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) {
    if (is_work_item(k.tag(n))) return true;
    return k.find_temporary(n) &&
           std::any_of(k.instructions.begin(), k.instructions.end(),
                       [&](const InsnPtr& i) { return has_items(i) && writes(*i).count(n) > 0; });
  });
}

/// What a function that work-items call cannot have.
void check_called(const Kernel& k, Target target, const Instruction& caller) {
  const auto refuse = [&](const Span& at, const std::string& what) {
    throw Error(
        Diagnostic{"unsupported",
                   fmt::format("instruction `{}`: work-items of target `{}` cannot call `{}`, {}",
                               caller.id, to_string(target), k.name, what),
                   {caller.at, {}},
                   {{at ? at : k.at, "here"}},
                   "lp.inline puts its statements in the place of the call"});
  };
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == TagKind::Group || is_work_item(&tag))
      refuse(tag.at, fmt::format("whose loop `{}` is tagged `{}`", iname, tag.text));
  for (const InsnPtr& i : k.instructions) {
    if (i->atomic != Atomicity::None) refuse(i->at, "which has atomic updates");
    if (i->kind == InsnKind::Barrier) refuse(i->at, "which has a barrier");
    if (const CalledKernel* called = called_kernel(k, *i))
      check_called(called->code ? *called->code : *called->meaning, target, caller);
    else if (const Call* c = external_call(k, *i))
      refuse(i->at, fmt::format("which calls the external `{}`", c->name));
  }
}

/// What devices have no words for, wherever it stands in the kernel.
void check_device(const Kernel& k, Target target) {
  for (const InsnPtr& insn : k.instructions) {
    if (const CalledKernel* called = called_kernel(k, *insn)) {
      check_called(called->code ? *called->code : *called->meaning, target, *insn);
      continue;
    }
    if (const Call* c = external_call(k, *insn))
      fail("unsupported", insn->at,
           "instruction `{}`: target `{}` cannot call `{}`, which is external", insn->id,
           to_string(target), c->name);
    // Other conditions are one for the group, or the grid: they are left out, all wait.
    if (insn->kind == InsnKind::Barrier && differs_by_item(k, conjunction(insn->predicates)))
      fail("divergent-barrier", insn->at,
           "the barrier `{}` is under the condition `{}`: work-items for which it does not hold "
           "would never arrive; leave the condition to the statements that it separates",
           insn->id, to_string(conjunction(insn->predicates)));
  }
}

void check_supported(const Kernel& k, Target target) {
  for (const auto& [iname, tag] : k.iname_tags) {
    const Span& at = tag.at ? tag.at : k.at;
    if (is_device(target) && !is_for_devices(tag.kind))
      fail("unsupported", at,
           "iname `{}` is tagged `{}`, which target `{}` does not have; `g.N` and `l.N` are "
           "parallel there, and lib.work_items makes them of `par`",
           iname, tag.text, to_string(target));
    const bool on_axis = tag.kind == TagKind::Group || tag.kind == TagKind::Local;
    if (is_device(target) && on_axis && tag.axis >= kDeviceAxes)
      fail("unsupported", at,
           "iname `{}` is tagged `{}`, but target `{}` has the axes 0, 1 and 2 only", iname,
           tag.text, to_string(target));
  }
  if (is_device(target)) check_device(k, target);
}

/// With `l.auto` loops on axes. Those for which no axis is left run in sequence, which may not
/// nest.
Nested nest_on_axes(Kernel k) {
  const bool any = std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                               [](const auto& t) { return t.second.kind == TagKind::LocalAuto; });
  if (!any) return nest(std::move(k));
  try {
    return nest(assign_automatic_axes(std::move(k)));
  } catch (const Refused& e) {
    Diagnostic d = e.diagnostic();
    d.text =
        "no axis of the work-group is left for loops tagged `l.auto`, and in sequence " + d.text;
    d.code = "unsupported";
    throw Error(d);
  }
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
      for (int i : n.insns()) {
        plan_.loops_of[static_cast<std::size_t>(i)] = loops_;
        plan_.nodes_of[static_cast<std::size_t>(i)] = ids_;
      }
      if (n.is_leaf()) continue;
      loops_.push_back(n.iname());
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

void print(const Plan& plan, const std::vector<PlanNode>& nodes, int depth, std::string& out) {
  for (const PlanNode& n : nodes) {
    out.append(2 * static_cast<std::size_t>(depth), ' ');
    if (const Barrier* b = n.barrier()) {
      out += "barrier: " + b->why + "\n";
      continue;
    }
    if (n.reduction()) {
      out += "reduction over work-items\n";
      continue;
    }
    if (!n.is_leaf()) {
      out += (n.is_loop() ? n.iname() : fmt::format("kernel {}", n.kernel()->launch)) + "\n";
      print(plan, n.children, depth + 1, out);
      continue;
    }
    for (int i : n.insns()) {
      if (i != n.insns().front()) out += ", ";
      out += plan.kernel.instructions[static_cast<std::size_t>(i)]->id;
    }
    out += "\n";
  }
}

}  // namespace

Kernel without_stand_ins_for_elsewhere(Kernel k) {
  if (k.externals.empty()) return k;
  std::set<std::string> read, stand_ins;
  for (const InsnPtr& i : k.instructions) {
    read.merge(reads(k, *i));
    for (const Expr& l : i->lhs)
      if (stands_for_elsewhere(k, *i, written_name(l))) stand_ins.insert(written_name(l));
  }
  std::erase_if(stand_ins, [&](const std::string& name) { return read.count(name) > 0; });
  for (InsnPtr& i : k.instructions)
    if (const Call* c = external_call(k, *i))
      i = edit(i, [&](Instruction& x) {
        const auto unread = [&](const Expr& l) { return stand_ins.count(written_name(l)) > 0; };
        const auto first = x.lhs.begin() + (k.externals.at(c->name) ? 1 : 0);
        x.lhs.erase(std::remove_if(first, x.lhs.end(), unread), x.lhs.end());
      });
  for (const std::string& name : stand_ins)
    if (std::none_of(k.instructions.begin(), k.instructions.end(),
                     [&](const InsnPtr& i) { return writes(*i).count(name) > 0; }))
      k.temporaries.erase(name);
  return k;
}

/// Work-items that share a segmented reduction run one after the other, as the proof has it: hosts
/// have no parts that could be put together in order.
static Kernel on_host(Kernel k) {
  const bool items = std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                                 [](const auto& t) { return is_work_item(&t.second); });
  if (!items) return k;
  const std::shared_ptr<const RunOrder> order = order_of(k);
  return without_ordered_parts(std::move(k), *order);
}

Nested nest_for(Kernel k, Target target) {
  check_supported(k, target);
  return is_device(target) ? nest_on_axes(std::move(k)) : nest(on_host(std::move(k)));
}

std::vector<PlanNode> plan_nodes(const LoopTree& tree) { return from_trees(tree.roots); }

void number_nodes(Plan& plan) { Numbering(plan).visit(plan.roots); }

std::string copy_axis(const Kernel& k, const std::string& iname) {
  const InameTag& tag = *k.tag(iname);
  return tag.kind == TagKind::Local ? "l." + std::to_string(tag.axis) : iname;
}

std::string print_plan(const Plan& plan) {
  std::string out;
  print(plan, plan.roots, 0, out);
  return out;
}

}  // namespace moonloop
