#include <algorithm>

#include "codegen/plan/access_set.h"
#include "codegen/plan/domains.h"

namespace moonloop {
namespace {

class BarrierPlacer {
 public:
  explicit BarrierPlacer(const Plan& plan)
      : plan_(plan), k_(plan.kernel), domains_(plan.kernel), hardware_conflicts_(plan) {
    for (const InsnPtr& i : k_.instructions)
      for (const std::string& w : writes(*i)) written_.insert(w);
  }

  void visit_host(std::vector<PlanNode>& nodes) {
    for (PlanNode& n : nodes) {
      if (!n.kernel()) {
        visit_host(n.children);
        continue;
      }
      const LaunchPlan& launch = plan_.launches[static_cast<std::size_t>(n.kernel()->launch)];
      loops_ = launch.host_loops;
      hardware_conflicts_.in_kernel(launch);
      head_.clear(), before_barrier_ = true;
      sequence(n.children, {});
    }
  }

 private:
  bool is_hardware(const std::string& iname) const { return plan_.hardware.count(iname) > 0; }
  bool is_item(const std::string& iname) const {
    const auto h = plan_.hardware.find(iname);
    return h != plan_.hardware.end() && !h->second.group;
  }

  /// Puts barriers between the statements of one iteration. `pending`: what was touched since the
  /// last barrier before them; returns what was since the last one in or before them.
  AccessSet sequence(std::vector<PlanNode>& nodes, AccessSet pending) {
    std::vector<PlanNode> out;
    for (PlanNode& n : nodes) {
      if (n.reduction()) {
        out.push_back(std::move(n));
      } else if (n.is_leaf()) {
        leaf(n, pending, out);
      } else if (is_item(n.iname())) {
        AccessSet all;
        collect(n, all);
        separate(all, pending, out);
        out.push_back(std::move(n));
      } else if (is_hardware(n.iname())) {
        pending = sequence(n.children, std::move(pending));
        out.push_back(std::move(n));
      } else {
        AccessSet bounds;
        read_bounds(n, domains_.data_of(n.iname()), bounds);
        separate(bounds, pending, out);
        loop(n, pending);
        out.push_back(std::move(n));
      }
    }
    nodes = std::move(out);
    return pending;
  }

  void leaf(const PlanNode& n, AccessSet& pending, std::vector<PlanNode>& out) {
    std::vector<int> rest;
    const auto flush = [&] {
      if (!rest.empty()) out.push_back(PlanNode::of(std::exchange(rest, {})));
    };
    for (int i : n.insns()) {
      const Instruction& insn = *k_.instructions[static_cast<std::size_t>(i)];
      if (insn.kind == InsnKind::Barrier) {
        flush();
        put(out, pending, "asked for by `" + insn.id + "`");
        Barrier& b = *out.back().barrier();
        (insn.mem_kind == "global" ? b.global : b.local) = true;
        continue;
      }
      AccessSet own;
      for (const StatementAccess& t : hardware_conflicts_.accesses(i)) own.add(t);
      const auto conflict = find_conflict(pending, own, {});
      if (conflict) flush(), put(out, pending, *conflict);
      note(own, pending);
      rest.push_back(i);
    }
    flush();
  }

  void separate(const AccessSet& all, AccessSet& pending, std::vector<PlanNode>& out) {
    if (const auto conflict = find_conflict(pending, all, {})) put(out, pending, *conflict);
    note(all, pending);
  }

  /// A sequential loop. It may run no iteration, so barriers in it end nothing that stood before.
  void loop(PlanNode& n, AccessSet& pending) {
    const AccessSet before = pending, outer_head = std::move(head_);
    const bool outer_open = before_barrier_;
    head_.clear(), before_barrier_ = true;
    loops_.push_back(n.iname());
    AccessSet end = sequence(n.children, std::move(pending));
    loops_.pop_back();
    if (const auto conflict = find_conflict(end, head_, n.iname())) put(n.children, end, *conflict);
    pending = before;
    pending.add(end);
    AccessSet own = std::move(head_);
    head_ = outer_head, before_barrier_ = outer_open;
    if (before_barrier_) head_.add(own);
  }

  /// Two accesses that need a barrier between them, as text where the plan gives reasons.
  std::optional<std::string> find_conflict(const AccessSet& first, const AccessSet& second,
                                           const std::string& carried) {
    std::optional<std::string> out;
    for (const StatementAccess* y : second.all())
      if (first.any_beside(*y, [&](const StatementAccess& x) {
            const auto conflict = hardware_conflicts_.across_items(x, *y, loops_, carried);
            if (conflict) out = plan_.reasons ? hardware_conflicts_.describe(x, *y, *conflict) : "";
            return conflict.has_value();
          }))
        return out;
    return out;
  }

  void put(std::vector<PlanNode>& out, AccessSet& pending, const std::string& why) {
    Barrier b;
    b.why = why;
    for (const StatementAccess* t : pending.all()) {
      const bool local = plan_.lies_in(t->variable, AddressSpace::Local);
      if (local) b.local = true;
      if (!local && written_.count(t->variable)) b.global = true;
    }
    if (!b.local && !b.global) b.local = true;
    out.push_back({std::move(b)});
    pending.clear();
    before_barrier_ = false;
  }

  void note(const AccessSet& all, AccessSet& pending) {
    pending.add(all);
    if (before_barrier_) head_.add(all);
  }
  /// What the bounds of a loop read, by the statements in it.
  void read_bounds(const PlanNode& n, const std::vector<std::string>& computed,
                   AccessSet& out) const {
    if (computed.empty()) return;
    for (int i : n.insns())
      for (const StatementAccess& t : hardware_conflicts_.accesses(i))
        if (!t.write && std::find(computed.begin(), computed.end(), t.variable) != computed.end())
          out.add(t);
    for (const PlanNode& c : n.children) read_bounds(c, computed, out);
  }
  void collect(const PlanNode& n, AccessSet& out) const {
    for (int i : n.insns())
      for (const StatementAccess& t : hardware_conflicts_.accesses(i)) out.add(t);
    for (const PlanNode& c : n.children) collect(c, out);
  }

  const Plan& plan_;
  const Kernel& k_;
  Domains domains_;
  HardwareConflicts hardware_conflicts_;
  std::set<std::string> written_;
  std::vector<std::string> loops_;  // sequential ones around, those of the host included
  AccessSet head_;                  // of this iteration, up to its first barrier
  bool before_barrier_ = true;
};

}  // namespace

void place_barriers(Plan& plan) { BarrierPlacer(plan).visit_host(plan.roots); }

}  // namespace moonloop
