#include <algorithm>

#include "codegen/plan.h"

namespace moonloop {
namespace {

/// The axes of the work-group that the instruction is spread over.
std::set<int> axes_of(const Plan& plan, const Instruction& insn, bool groups) {
  std::set<int> out;
  for (const std::string& n : insn.inames)
    if (const auto h = plan.hardware.find(n); h != plan.hardware.end() && h->second.group == groups)
      out.insert(h->second.axis);
  return out;
}

std::set<int> without(std::set<int> all, const std::set<int>& some) {
  for (int a : some) all.erase(a);
  return all;
}

class Inserter {
 public:
  explicit Inserter(Plan& plan) : plan_(plan) {
    for (std::size_t r = 0; r < plan.reductions.size(); ++r)
      for (const Expr& acc : plan.kernel.instructions[at(plan.reductions[r].update)]->lhs)
        of_[written_name(acc)] = static_cast<int>(r);
  }

  void visit(std::vector<PlanNode>& nodes, int launch) {
    std::vector<PlanNode> out;
    for (PlanNode& n : nodes) {
      if (n.launch >= 0) launch = n.launch;
      if (!n.is_leaf()) {
        visit(n.children, launch);
        out.push_back(std::move(n));
        continue;
      }
      PlanNode rest = n;
      rest.insns.clear();
      for (int i : n.insns) {
        for (int r : used_by(i)) {
          if (!rest.insns.empty()) out.push_back(rest);
          rest.insns.clear();
          out.push_back(node_of(r, launch));
        }
        rest.insns.push_back(i);
      }
      if (!rest.insns.empty()) out.push_back(std::move(rest));
    }
    nodes = std::move(out);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// Reductions whose results the instruction is the first to read.
  std::set<int> used_by(int i) {
    std::set<int> out;
    const Instruction& insn = *plan_.kernel.instructions[at(i)];
    if (insn.role == ReductionRole::Init) return out;
    for_each_read(plan_.kernel, insn, [&](const std::string& n) {
      const auto it = of_.find(n);
      if (it == of_.end() || plan_.reductions[at(it->second)].update == i) return;
      if (placed_.insert(it->second).second) out.insert(it->second);
    });
    return out;
  }

  PlanNode node_of(int r, int launch) {
    GroupReduction& reduction = plan_.reductions[at(r)];
    std::int64_t items = 1;
    for (std::int64_t n : plan_.launches[at(launch)].items) items *= std::max<std::int64_t>(1, n);
    const Instruction& update = *plan_.kernel.instructions[at(reduction.update)];
    for (const Expr& acc : update.lhs) {
      const Temporary& own = *plan_.kernel.find_temporary(written_name(acc));
      Temporary t;
      t.name = plan_.kernel.fresh_name(own.name + "_shared");
      t.type = own.type;
      t.shape = Exprs{lit(items)};
      t.space = AddressSpace::Local;
      t.at = own.at;
      reduction.shared.push_back(t.name);
      plan_.spaces.emplace(t.name, AddressSpace::Local);
      plan_.kernel.temporaries.emplace(t.name, t);
    }
    PlanNode out;
    out.reduction = r;
    return out;
  }

  Plan& plan_;
  std::map<std::string, int> of_;  // by accumulator
  std::set<int> placed_;
};

}  // namespace

void find_group_reductions(Plan& plan) {
  const Kernel& k = plan.kernel;
  std::map<std::string, const Instruction*> init;
  for (const InsnPtr& i : k.instructions)
    if (i->role == ReductionRole::Init)
      for (const Expr& acc : i->lhs) init.emplace(written_name(acc), i.get());
  for (std::size_t u = 0; u < k.instructions.size(); ++u) {
    const Instruction& update = *k.instructions[u];
    if (update.role != ReductionRole::Update) continue;
    const auto start = init.find(written_name(update.lhs[0]));
    if (start == init.end()) continue;
    const Instruction& first = *start->second;
    if (!without(axes_of(plan, update, true), axes_of(plan, first, true)).empty())
      fail("unsupported", update.at,
           "instruction `{}`: a reduction over groups is not supported yet; keep one result for "
           "each "
           "group, and reduce these in a second step",
           update.id);
    const std::set<int> axes = without(axes_of(plan, update, false), axes_of(plan, first, false));
    if (axes.empty()) continue;
    if (update.reduce_op == ReduceOp::SegmentedSum ||
        update.reduce_op == ReduceOp::SegmentedProduct)
      fail("unsupported", update.at,
           "instruction `{}`: the order of a segmented reduction matters, so work-items cannot "
           "share "
           "it",
           update.id);
    GroupReduction r;
    r.update = static_cast<int>(u);
    r.axes.assign(axes.begin(), axes.end());
    plan.reductions.push_back(std::move(r));
  }
}

void place_group_reductions(Plan& plan) {
  if (!plan.reductions.empty()) Inserter(plan).visit(plan.roots, -1);
}

}  // namespace moonloop
