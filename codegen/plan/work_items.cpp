#include <algorithm>
#include <deque>
#include <optional>

#include "codegen/plan/access_set.h"
#include "codegen/plan/plan.h"
#include "codegen/plan/team_conflicts.h"
#include "core/order/address_spaces.h"

namespace moonloop {
namespace {

using Names = std::set<std::string>;

class Placer {
 public:
  explicit Placer(const Kernel& k) : k_(k), variables_(k), conflicts_(k) {
    for (const InsnPtr& i : k.instructions) {
      Names own;
      for (const std::string& n : i->inames)
        if (is_work_item(k.tag(n))) own.insert(n);
      any_ |= !own.empty();
      items_.push_back(std::move(own));
    }
  }

  std::vector<PlanNode> run(std::vector<PlanNode> roots) {
    if (!any_) return roots;
    own_.emplace(k_);
    return place(std::move(roots), {});
  }

 private:
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }
  const Names& items(int i) const { return items_[static_cast<std::size_t>(i)]; }

  // ---- Placing.

  static void instructions_of(const PlanNode& n, std::vector<int>& out) {
    out.insert(out.end(), n.insns().begin(), n.insns().end());
    for (const PlanNode& c : n.children) instructions_of(c, out);
  }
  /// Whether the loop is one of the host's, around kernels.
  static bool holds_kernel(const PlanNode& n) {
    return n.kernel() || std::any_of(n.children.begin(), n.children.end(), holds_kernel);
  }
  bool holds_parallel(const PlanNode& n) const {
    return is_spread(k_.tag(n.iname())) ||
           std::any_of(n.children.begin(), n.children.end(),
                       [&](const PlanNode& c) { return holds_parallel(c); });
  }

  /// What statements do to memory that work-items share, each touch once.
  struct Touched {
    std::deque<StatementAccess> all;  // where they stay
    AccessSet set;
  };

  /// Siblings that share one loop nest over work-items.
  struct Run {
    Names items;
    std::vector<PlanNode> nodes;
    Touched touched;
  };

  std::vector<PlanNode> place(std::vector<PlanNode> nodes, const std::vector<std::string>& outer) {
    std::vector<PlanNode> out;
    Run run;
    for (PlanNode& node : nodes) {
      if (node.reduction()) {
        close(run, out);
        out.push_back(std::move(node));
        continue;
      }
      if (node.kernel()) {
        node.children = place(std::move(node.children), outer);
        out.push_back(std::move(node));
        continue;
      }
      if (node.is_loop()) {
        if (joins(run, node, outer, out)) continue;
        close(run, out);
        std::vector<std::string> inner = outer;
        inner.push_back(node.iname());
        node.children = place(std::move(node.children), inner);
        if (!node.children.empty()) out.push_back(std::move(node));  // else it held barriers alone
        continue;
      }
      for (int i : node.insns()) {
        PlanNode single = PlanNode::of({i});
        if (insn(i).kind == InsnKind::Barrier) {
          close(run, out);
          if (insn(i).barrier == BarrierScope::Local) push(out, std::move(single));
          continue;
        }
        if (joins(run, single, outer, out)) continue;
        close(run, out);
        push(out, std::move(single));
      }
    }
    close(run, out);
    return out;
  }

  /// Takes `node` into the run, or into a new one. False when it cannot be in any run: it has no
  /// work-items, several sets of them, its statements need what other work-items do, or it holds
  /// kernels.
  bool joins(Run& run, PlanNode& node, const std::vector<std::string>& outer,
             std::vector<PlanNode>& out) {
    std::vector<int> insns;
    instructions_of(node, insns);
    const Names& items = this->items(insns.front());
    if (items.empty() || holds_kernel(node) || holds_parallel(node)) return false;
    for (int i : insns)
      if (this->items(i) != items || insn(i).kind == InsnKind::Barrier) return false;
    Touched touched;
    for (int i : insns) touch(i, touched);
    // A single statement runs for all work-items before the next one does, in any order.
    if ((insns.size() > 1 || node.is_loop()) && conflict(touched, touched, items, outer))
      return false;
    if (run.nodes.empty() || run.items != items || conflict(run.touched, touched, items, outer)) {
      close(run, out);
      run.items = items;
    }
    for (StatementAccess& t : touched.all) add(std::move(t), run.touched);
    push(run.nodes, std::move(node));
    return true;
  }

  static void push(std::vector<PlanNode>& to, PlanNode node) {
    if (node.is_statements() && !to.empty() && to.back().is_statements()) {
      std::vector<int>& all = to.back().statements();
      all.insert(all.end(), node.insns().begin(), node.insns().end());
    } else {
      to.push_back(std::move(node));
    }
  }

  void close(Run& run, std::vector<PlanNode>& out) {
    if (run.nodes.empty()) return;
    std::vector<PlanNode> body = std::move(run.nodes);
    for (const std::string& iname : fastest_first(run.items)) {
      PlanNode loop = PlanNode::over(iname, std::exchange(body, {}));
      body.push_back(std::move(loop));
    }
    out.push_back(std::move(body.front()));
    run = Run();
  }

  /// Axis 0 runs fastest; inames tagged `l.auto` stand outside of it, in loop order.
  std::vector<std::string> fastest_first(const Names& items) const {
    const auto rank = [&](const std::string& n) {
      const InameTag& t = *k_.tag(n);
      const auto at = std::find(k_.loop_order.begin(), k_.loop_order.end(), n);
      return std::pair(t.kind == TagKind::LocalAuto ? 1 << 20 : t.axis, k_.loop_order.end() - at);
    };
    std::vector<std::string> out(items.begin(), items.end());
    std::stable_sort(out.begin(), out.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    for (auto it = out.begin(); it != out.end(); ++it) {
      const Names axes = axes_of_bounds(*it);
      const auto around = std::find_if(
          out.begin(), it, [&](const std::string& n) { return axes.count(copy_axis(k_, n)) > 0; });
      std::rotate(around, it, it + 1);
    }
    return out;
  }

  /// What numbers the work-items that each compute a bound of their own for the iname: it can only
  /// run inside of these.
  Names axes_of_bounds(const std::string& iname) const {
    Names out;
    for (const std::string& t : k_.home_of(iname)->params()) {
      if (!k_.find_temporary(t) || !own_->per_item(t)) continue;
      for (const InsnPtr& i : k_.instructions)
        if (writes(*i).count(t) > 0)
          for (const std::string& n : i->inames)
            if (is_work_item(k_.tag(n))) out.insert(copy_axis(k_, n));
    }
    return out;
  }

  // ---- What work-items need of one another.

  void touch(int i, Touched& out) const {
    for (const Access& a : statement_accesses(insn(i), variables_))
      if (!own_->per_item(a.variable)) add(StatementAccess{a, i}, out);
  }

  void add(StatementAccess t, Touched& to) const {
    if (to.set.any_beside(t, [&](const StatementAccess& o) { return same(t, o); })) return;
    to.all.push_back(std::move(t));
    to.set.add(to.all.back());
  }

  /// Whether one stands for the other: of updates, which others they commute with counts too.
  bool same(const StatementAccess& a, const StatementAccess& b) const {
    return a.write == b.write && equal(a.index, b.index) &&
           insn(a.insn).inames == insn(b.insn).inames &&
           (a.insn == b.insn ||
            (insn(a.insn).atomic != Atomicity::Update && insn(b.insn).atomic != Atomicity::Update));
  }

  /// Those of `a` with those of `b`; the fewer should be `b`.
  bool conflict(const Touched& a, const Touched& b, const Names& items,
                const std::vector<std::string>& outer) {
    const std::vector<std::string> team(items.begin(), items.end());
    return std::any_of(b.all.begin(), b.all.end(), [&](const StatementAccess& y) {
      return a.set.any_beside(
          y, [&](const StatementAccess& x) { return conflicts_.cross(x, y, team, outer); });
    });
  }

  const Kernel& k_;
  Variables variables_;
  TeamConflicts conflicts_;
  std::vector<Names> items_;
  std::optional<OwnCopies> own_;
  bool any_ = false;
};

}  // namespace

std::vector<PlanNode> place_work_items(const Kernel& k, std::vector<PlanNode> roots) {
  return Placer(k).run(std::move(roots));
}

}  // namespace moonloop
