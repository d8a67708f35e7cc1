#include <algorithm>

#include "codegen/language.h"
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"
#include "core/order/legality.h"

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

  /// Puts each reduction right before what reads it first, in the innermost list of nodes that also
  /// accumulates it: a loop or a kernel of its readers alone runs the reduction before, not inside.
  void visit(std::vector<PlanNode>& nodes, int launch) {
    std::vector<PlanNode> out;
    for (PlanNode& n : nodes) {
      if (n.kernel()) launch = n.kernel()->launch;
      if (!n.is_leaf()) {
        if (n.is_loop()) {
          std::set<int> inside;
          instructions_of(n, inside);
          for (int r : used_by(inside)) out.push_back(node_of(r, launch));
        }
        const int repeats = n.is_loop() && !plan_.hardware.count(n.iname()) ? 1 : 0;
        loops_ += repeats;
        visit(n.children, launch);
        loops_ -= repeats;
        out.push_back(std::move(n));
        continue;
      }
      std::vector<int> rest;
      for (int i : n.insns()) {
        for (int r : used_by({i})) {
          if (!rest.empty()) out.push_back(PlanNode::of(std::exchange(rest, {})));
          out.push_back(node_of(r, launch));
        }
        rest.push_back(i);
      }
      if (!rest.empty()) out.push_back(PlanNode::of(std::move(rest)));
    }
    nodes = std::move(out);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  static void instructions_of(const PlanNode& n, std::set<int>& out) {
    out.insert(n.insns().begin(), n.insns().end());
    for (const PlanNode& c : n.children) instructions_of(c, out);
  }

  /// Reductions whose results these instructions are the first to read, while others accumulate.
  std::set<int> used_by(const std::set<int>& insns) {
    std::set<int> out;
    for (int i : insns) {
      for_each_read(plan_.kernel, *plan_.kernel.instructions[at(i)], [&](const std::string& n) {
        const auto it = of_.find(n);
        if (it == of_.end() || placed_.count(it->second)) return;
        const int update = plan_.reductions[at(it->second)].update;
        if (!insns.count(update)) out.insert(it->second);
      });
    }
    placed_.insert(out.begin(), out.end());
    return out;
  }

  PlanNode node_of(int r, int launch) {
    GroupReduction& reduction = plan_.reductions[at(r)];
    const Instruction& update = *plan_.kernel.instructions[at(reduction.update)];
    const std::int64_t items = measure(reduction, plan_.launches[at(launch)], update);
    reduction.repeats = loops_ > 0 || plan_.lane_copies.count(written_name(update.lhs[0])) > 0;
    const bool numbers =  // what one register, or two, hold
        std::none_of(update.lhs.begin(), update.lhs.end(), [&](const Expr& acc) {
          const Type& t = *plan_.kernel.find_temporary(written_name(acc))->type;
          return t.is_record() || is_complex(t.scalar);
        });
    reduction.shuffles = features_of(plan_.target).shuffles && numbers && !reduction.in_order &&
                         items % kWarpItems == 0 && reduction.spans.size() == 1 &&
                         in_warps(reduction.spans[0]);
    const bool one_warp = reduction.shuffles && reduction.spans[0].items <= kWarpItems;
    const auto add = [&](const std::string& base, const Type& type, AddressSpace space) {
      Temporary t;
      t.name = plan_.kernel.fresh_name(base);
      t.type = type;
      t.space = space;
      t.at = update.at;
      if (space == AddressSpace::Local)
        t.shape = Exprs{lit(reduction.shuffles ? items / kWarpItems : items)};
      plan_.spaces.emplace(t.name, space);
      plan_.kernel.temporaries.emplace(t.name, t);
      return t.name;
    };
    reduction.item = add("item", plan_.kernel.index_type, AddressSpace::Private);
    reduction.reach = add("reach", plan_.kernel.index_type, AddressSpace::Private);
    for (const Expr& acc : update.lhs) {
      const Temporary own = *plan_.kernel.find_temporary(written_name(acc));
      if (!one_warp)
        reduction.shared.push_back(add(own.name + "_shared", *own.type, AddressSpace::Local));
      if (reduction.shuffles)
        reduction.partner.push_back(add(own.name + "_partner", *own.type, AddressSpace::Private));
    }
    return {PlanReduction{r}};
  }

  /// Sets `number` and `spans`; returns the work-items of a group.
  static std::int64_t measure(GroupReduction& r, const LaunchPlan& launch,
                              const Instruction& update) {
    std::int64_t stride = 1;
    Exprs numbers;
    for (int axis = 0; axis < kDeviceAxes; ++axis) {
      if (!launch.has_items(axis)) continue;
      const Expr& along = launch.number(false, axis);
      if (!as_int(along))
        fail("unsupported", update.at,
             "instruction `{}`: work-items put together in local memory what each of them has; its "
             "size has to be constant, but along `l.{}` there are `{}` of them; assume gives that "
             "number a bound, split_iname an inner loop of fixed length to tag instead",
             update.id, axis, to_string(along));
      const std::int64_t items = *as_int(along);
      numbers.push_back(index_mul(lit(stride), call(kLocalId, {lit(axis)})));
      if (std::find(r.axes.begin(), r.axes.end(), axis) != r.axes.end()) {
        if (r.spans.empty() || r.spans.back().stride * r.spans.back().items != stride)
          r.spans.push_back({stride, 1, lit(0)});
        GroupReduction::Span& s = r.spans.back();
        s.place = index_add({s.place, index_mul(lit(s.items), call(kLocalId, {lit(axis)}))});
        s.items *= items;
      }
      stride *= items;
    }
    r.number = numbers.empty() ? lit(0) : index_add(numbers);
    return stride;
  }

  /// Whether those that put their parts together are neighbours that fill warps, or an equal part
  /// of one each.
  static bool in_warps(const GroupReduction::Span& s) {
    return s.stride == 1 &&
           (s.items % kWarpItems == 0 || (s.items < kWarpItems && kWarpItems % s.items == 0));
  }

  Plan& plan_;
  std::map<std::string, int> of_;  // by accumulator
  std::set<int> placed_;
  int loops_ = 0;  // of the kernel around what is visited
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
    const bool in_order = !combines_items(update);
    if (in_order && axes.size() > 1)
      fail("unsupported", update.at,
           "instruction `{}`: the order of a segmented reduction matters, so the work-items of "
           "several axes cannot share it",
           update.id);
    GroupReduction r;
    r.update = static_cast<int>(u);
    r.axes.assign(axes.begin(), axes.end());
    r.in_order = in_order;
    plan.reductions.push_back(std::move(r));
  }
}

void place_group_reductions(Plan& plan) {
  if (!plan.reductions.empty()) Inserter(plan).visit(plan.roots, -1);
}

}  // namespace moonloop
