#include <algorithm>

#include "codegen/plan/access_set.h"
#include "codegen/plan/auto_axes.h"
#include "codegen/plan/idle_groups.h"
#include "codegen/plan/spaces.h"
#include "core/model/domain.h"
#include "core/order/order_reference.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// What it may cost to find out that two accesses need no kernels of their own.
constexpr unsigned long kConflictOperations = 200'000;

/// A number to count from in the place of a first value that depends on parameters by cases, where
/// it does not take more work-items: what is before the first value is guarded anyway.
std::optional<std::int64_t> constant_first(const Set& s, const HardwareIname& h,
                                           const std::optional<std::int64_t>& items) {
  bool cases = false;
  walk(h.first, [&](const Expr& e) {
    const auto* c = e.as<Call>();
    cases = cases || e.as<Select>() || (c && c->name == "if");
    return !cases;
  });
  if (!cases) return std::nullopt;
  const Aff x =
      isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(s.get())), isl_dim_set, 0);
  const Val low = isl_set_min_val(s.get(), x.get()), high = isl_set_max_val(s.get(), x.get());
  if (!yes(isl_val_is_int(low.get()))) return std::nullopt;
  const bool same = items && yes(isl_val_is_int(high.get())) && to_int(high) - to_int(low) < *items;
  return h.group || same ? std::optional(to_int(low)) : std::nullopt;
}

/// The inames that the hardware counts, whatever kernel they are in.
std::map<std::string, HardwareIname> hardware_of(const Kernel& k, const KnownValues& values) {
  std::map<std::string, HardwareIname> out;
  for (const auto& [iname, tag] : k.iname_tags) {
    if (tag.kind != TagKind::Group && tag.kind != TagKind::Local) continue;
    if (!k.has_iname(iname)) continue;
    // The hardware counts as far as the bounds go that are known outside of it; what is computed
    // inside, such as the length of a row, becomes a guard of each work-item.
    const Set all = domain_of(k, {iname});
    const auto [s, known] = without_unknown(k, all, values);
    if (!is_bounded(s, 0)) {
      if (known)
        fail("unsupported", tag.at ? tag.at : k.at, "`{}` is tagged `{}`, but has no bounds", iname,
             tag.text);
      for (const std::string& p : computed_params(k, all))
        if (!values.count(p))
          fail("unsupported", tag.at ? tag.at : k.at,
               "`{0}` is tagged `{1}`, but its bounds depend on `{2}`, which is computed on the "
               "device; split_iname(\"{0}\", 32) gives it an inner loop that can be tagged `{1}`",
               iname, tag.text, p);
    }
    HardwareIname h;
    h.group = tag.kind == TagKind::Group;
    h.axis = tag.axis;
    h.first = range_end(s, true);
    std::optional<std::int64_t> n;
    if (!h.group) n = longest(k, iname);
    if (const auto first = constant_first(s, h, n)) h.first = lit(*first);
    if (n)
      h.extent = lit(*n);
    else
      h.extent = index_add({range_end(s, false), index_mul(lit(-1), h.first), lit(1)});
    h.first = substitute(h.first, values);
    h.extent = substitute(h.extent, values);
    out.emplace(iname, std::move(h));
  }
  return out;
}

/// How often a statement has to run, at least, to be worth a kernel of its own.
constexpr std::int64_t kCostly = 64;

/// Temporaries of one value for the whole grid that take a loop to compute, while statements spread
/// over groups use them: each group would compute them again. In global memory it is done once, in
/// a kernel before. Those that bound loops stay, as do those for which the user chose.
std::set<std::string> costly_for_groups(const Plan& plan) {
  const Kernel& k = plan.kernel;
  const auto has_groups = [&](const Instruction& i) {
    return std::any_of(i.inames.begin(), i.inames.end(), [&](const std::string& n) {
      const auto h = plan.hardware.find(n);
      return h != plan.hardware.end() && h->second.group;
    });
  };
  std::map<std::string, std::vector<const Instruction*>> writers, readers;
  for (const InsnPtr& i : k.instructions) {
    for (const std::string& w : writes(*i)) writers[w].push_back(i.get());
    for_each_read(k, *i, [&](const std::string& n) { readers[n].push_back(i.get()); });
  }
  const auto repeated = [&](const Instruction& i, const std::set<std::string>& around) {
    return std::any_of(i.inames.begin(), i.inames.end(), [&](const std::string& n) {
      const auto most = around.count(n) ? std::optional<std::int64_t>(0) : longest(k, n);
      return !most || *most > kCostly;
    });
  };
  std::set<std::string> out, bounds;
  for (const Domain& d : k.domains)
    for (std::string& p : d.params()) bounds.insert(std::move(p));
  for (const auto& [name, t] : k.temporaries) {
    if (t.space != AddressSpace::Auto || t.initializer || bounds.count(name)) continue;
    const std::vector<const Instruction*>& own = writers[name];
    const auto& users = readers[name];
    if (own.empty() ||
        std::none_of(users.begin(), users.end(), [&](const auto* i) { return has_groups(*i); }))
      continue;
    std::set<std::string> around = own.front()->inames;  // the loops that its users share with it
    for (const Instruction* i : users)
      std::erase_if(around, [&](const std::string& n) { return !i->inames.count(n); });
    bool costly = false;
    const bool one = std::all_of(own.begin(), own.end(), [&](const Instruction* i) {
      if (std::any_of(i->inames.begin(), i->inames.end(),
                      [&](const std::string& n) { return plan.hardware.count(n) > 0; }) ||
          i->role != ReductionRole::None)
        return false;
      costly |= repeated(*i, around);
      for_each_read(k, *i, [&](const std::string& n) {
        for (const Instruction* part : writers[n])
          costly |= part->role == ReductionRole::Update && repeated(*part, around);
      });
      return true;
    });
    if (one && costly) out.insert(name);
  }
  return out;
}

class Cutter {
 public:
  explicit Cutter(Plan& plan)
      : plan_(plan), k_(plan.kernel), variables_(plan.kernel), hardware_conflicts_(plan) {}

  std::vector<PlanNode> run(std::vector<PlanNode> roots) { return host(std::move(roots), {}); }

 private:
  bool is_group(const std::string& iname) const {
    const InameTag* t = k_.tag(iname);
    return t && t->kind == TagKind::Group;
  }
  bool holds_groups(const PlanNode& n) const {
    return (n.is_loop() && is_group(n.iname())) ||
           std::any_of(n.insns().begin(), n.insns().end(),
                       [&](int i) {
                         const Instruction& insn = *k_.instructions[static_cast<std::size_t>(i)];
                         return insn.kind == InsnKind::Barrier &&
                                insn.barrier == BarrierScope::Global;
                       }) ||
           std::any_of(n.children.begin(), n.children.end(),
                       [&](const PlanNode& c) { return holds_groups(c); });
  }
  bool is_global_barrier(int i) const {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(i)];
    return insn.kind == InsnKind::Barrier && insn.barrier == BarrierScope::Global;
  }
  static void instructions_of(const PlanNode& n, std::vector<int>& out) {
    out.insert(out.end(), n.insns().begin(), n.insns().end());
    for (const PlanNode& c : n.children) instructions_of(c, out);
  }

  /// One kernel that is being put together.
  struct Open {
    std::vector<PlanNode> nodes;
    std::vector<int> insns;
    AccessSet accesses;
    HardwareConflicts::Axes axes;
    bool conflicts = false;  // some group needs what another one does
  };

  std::vector<PlanNode> host(std::vector<PlanNode> nodes, const std::vector<std::string>& loops) {
    std::vector<PlanNode> out;
    Open open;
    for (PlanNode& node : nodes) {
      if (node.is_loop() && !is_group(node.iname()) && holds_groups(node)) {
        close(open, loops, out);
        for (const Access& a : variables_.bounds_of(node.iname()))
          if (!plan_.known.count(a.variable)) refuse_bound(node, a.variable);
        std::vector<std::string> inner = loops;
        inner.push_back(node.iname());
        node.children = host(std::move(node.children), inner);
        if (!node.children.empty()) out.push_back(std::move(node));  // else it held barriers alone
        continue;
      }
      if (node.is_loop() && is_group(node.iname()) && needs_parts(node, loops)) {
        close(open, loops, out);
        std::vector<PlanNode> parts = around_each(node.iname(), node.children, loops);
        if (parts.size() == 1 && same_shape(parts.front(), node)) {  // nothing comes apart
          add(std::move(node), open, loops, out);
          continue;
        }
        for (PlanNode& n : host(std::move(parts), loops)) out.push_back(std::move(n));
        continue;
      }
      if (node.is_loop()) {
        add(std::move(node), open, loops, out);
        continue;
      }
      for (int i : node.insns())
        if (is_global_barrier(i))
          close(open, loops, out);
        else
          add(PlanNode::of({i}), open, loops, out);
    }
    close(open, loops, out);
    return out;
  }

  /// Whether groups have to wait for one another inside of the node: at a barrier, or because one
  /// of them needs what another does. Several statements can be told apart, one cannot.
  bool needs_parts(const PlanNode& node, const std::vector<std::string>& loops) {
    std::vector<int> all;
    instructions_of(node, all);
    if (std::any_of(all.begin(), all.end(), [&](int i) { return is_global_barrier(i); }))
      return true;
    return (all.size() > 1 || holds_sequential(node)) && conflict(all, loops);
  }

  static bool same_shape(const PlanNode& a, const PlanNode& b) {
    return a.iname() == b.iname() && a.insns() == b.insns() &&
           std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                      same_shape);
  }

  /// The children of the loop `iname` over groups, which wait for one another inside of it: groups
  /// of different iterations depend on nothing of each other, so that the loop may stand around
  /// each part instead, and sequential loops that hold several parts outside of it.
  std::vector<PlanNode> around_each(const std::string& iname, std::vector<PlanNode> children,
                                    const std::vector<std::string>& loops) {
    std::vector<PlanNode> out;
    Open part;
    const auto close = [&] {
      if (part.nodes.empty()) return;
      out.push_back(PlanNode::over(iname, std::exchange(part, {}).nodes));
    };
    const auto add = [&](PlanNode node) {
      std::vector<int> insns;
      instructions_of(node, insns);
      if (!part.nodes.empty() && !joins(part, insns, loops)) {
        Open next = take_preparation(part, insns, loops);
        close();
        part = std::move(next);
      }
      append(part, std::move(node), insns, loops);
    };
    for (PlanNode& c : children) {
      if (c.is_loop() && needs_parts(c, loops)) {
        close();
        std::vector<std::string> inner_loops = loops;
        if (!is_group(c.iname())) inner_loops.push_back(c.iname());
        std::vector<PlanNode> inner = around_each(iname, c.children, inner_loops);
        if (is_group(c.iname()) && inner.size() == 1 && inner.front().iname() == iname &&
            std::equal(c.children.begin(), c.children.end(), inner.front().children.begin(),
                       inner.front().children.end(), same_shape)) {
          add(std::move(c));  // one part, whichever of the two loops is outside
          continue;
        }
        if (is_group(c.iname())) {
          for (PlanNode& n : around_each(c.iname(), std::move(inner), loops))
            out.push_back(std::move(n));
        } else {
          c.children = std::move(inner);
          out.push_back(std::move(c));
        }
        continue;
      }
      if (c.is_loop()) {
        add(std::move(c));
        continue;
      }
      for (int i : c.insns()) {
        if (!is_global_barrier(i)) {
          add(PlanNode::of({i}));
          continue;
        }
        close();
        out.push_back(PlanNode::of({i}));
      }
    }
    close();
    return out;
  }

  bool holds_sequential(const PlanNode& n) const {
    return (n.is_loop() && !plan_.hardware.count(n.iname())) ||
           std::any_of(n.children.begin(), n.children.end(),
                       [&](const PlanNode& c) { return holds_sequential(c); });
  }

  void add(PlanNode node, Open& open, const std::vector<std::string>& loops,
           std::vector<PlanNode>& out) {
    std::vector<int> insns;
    instructions_of(node, insns);
    if (!open.nodes.empty() && (!joins(open, insns, loops) || is_too_wide(open, insns))) {
      Open next = take_preparation(open, insns, loops);
      close(open, loops, out);
      open = std::move(next);
    }
    append(open, std::move(node), insns, loops);
  }

  void append(Open& open, PlanNode node, const std::vector<int>& insns,
              const std::vector<std::string>& loops) {
    open.conflicts = !joins(open, insns, loops);
    open.insns.insert(open.insns.end(), insns.begin(), insns.end());
    open.axes.merge(hardware_conflicts_.axes_of(insns));
    for (int i : insns)
      for (const StatementAccess& t : hardware_conflicts_.accesses(i)) open.accesses.add(t);
    if (node.is_statements() && !open.nodes.empty() && open.nodes.back().is_statements()) {
      open.nodes.back().statements().push_back(node.insns().front());
    } else {
      open.nodes.push_back(std::move(node));
    }
  }

  /// The last statements of a kernel that only prepare what work-items keep to themselves belong
  /// to the kernel that follows, with `insns`.
  Open take_preparation(Open& open, const std::vector<int>& insns,
                        const std::vector<std::string>& loops) {
    std::vector<PlanNode> taken;  // the last first
    std::vector<int> all;
    while (!open.nodes.empty()) {
      PlanNode& last = open.nodes.back();
      PlanNode node = last.is_statements() ? PlanNode::of({last.insns().back()}) : last;
      std::vector<int> own;
      instructions_of(node, own);
      if (!prepare(own)) break;
      own.insert(own.end(), insns.begin(), insns.end());
      own.insert(own.end(), all.begin(), all.end());
      if (conflict(own, loops) && !conflict(insns, loops)) break;
      instructions_of(node, all);
      taken.push_back(std::move(node));
      if (last.is_statements()) last.statements().pop_back();
      if (last.insns().empty()) open.nodes.pop_back();
    }
    open.insns.clear();
    for (const PlanNode& n : open.nodes) instructions_of(n, open.insns);
    Open out;
    for (auto n = taken.rbegin(); n != taken.rend(); ++n) {
      all.clear();
      instructions_of(*n, all);
      append(out, std::move(*n), all, loops);
    }
    return out;
  }
  /// Whether the statements would make groups of the kernel larger than either needs, so that some
  /// work-items are always idle, and nothing that a group keeps to itself ties them to it.
  bool is_too_wide(const Open& open, const std::vector<int>& insns) {
    std::vector<int> both = open.insns;
    both.insert(both.end(), insns.begin(), insns.end());
    if (items_of(both) <= std::max(items_of(open.insns), items_of(insns))) return false;
    return !hands_on(open);
  }
  /// Whether what a group keeps to itself has to reach statements that are not in the kernel yet.
  bool hands_on(const Open& open) {
    const auto kept_by = [&](int i) {
      std::set<std::string> out;
      for (const StatementAccess& t : hardware_conflicts_.accesses(i))
        if (k_.find_temporary(t.variable) && !plan_.lies_in(t.variable, AddressSpace::Global))
          out.insert(t.variable);
      return out;
    };
    std::set<std::string> kept;
    for (int i : open.insns) kept.merge(kept_by(i));
    if (kept.empty()) return false;
    const std::set<int> inside(open.insns.begin(), open.insns.end());
    for (int i = 0; i < int(k_.instructions.size()); ++i) {
      if (inside.contains(i)) continue;
      const std::set<std::string> own = kept_by(i);
      if (std::any_of(own.begin(), own.end(), [&](const auto& n) { return kept.contains(n); }))
        return true;
    }
    return false;
  }
  /// Work-items of a group that runs the statements, as far as constants tell.
  std::int64_t items_of(const std::vector<int>& insns) const {
    std::map<int, std::int64_t> by_axis;
    for (int i : insns)
      for (const std::string& n : k_.instructions[static_cast<std::size_t>(i)]->inames) {
        const auto h = plan_.hardware.find(n);
        if (h == plan_.hardware.end() || h->second.group) continue;
        std::int64_t& most = by_axis.try_emplace(h->second.axis, 1).first->second;
        most = std::max(most, as_int(h->second.extent).value_or(1));
      }
    std::int64_t out = 1;
    for (const auto& [axis, n] : by_axis) out *= n;
    return out;
  }

  bool prepare(const std::vector<int>& insns) const {
    return std::all_of(insns.begin(), insns.end(), [&](int i) {
      const std::set<std::string> all = writes(*k_.instructions[static_cast<std::size_t>(i)]);
      return std::all_of(all.begin(), all.end(), [&](const std::string& w) {
        return plan_.lies_in(w, AddressSpace::Private);
      });
    });
  }

  /// Whether groups of a kernel of these statements conflict.
  bool conflict(const std::vector<int>& insns, const std::vector<std::string>& loops) {
    return !joins(Open(), insns, loops);
  }

  /// Whether no group of the kernel with `insns` too would need what another one does. The more
  /// axes of groups it has, the more of them run a statement.
  bool joins(const Open& open, const std::vector<int>& insns,
             const std::vector<std::string>& loops) {
    if (open.conflicts) return false;
    HardwareConflicts::Axes axes = hardware_conflicts_.axes_of(insns);
    axes.insert(open.axes.begin(), open.axes.end());
    hardware_conflicts_.in_kernel_with(axes);
    AccessSet own;
    for (int i : insns)
      for (const StatementAccess& t : hardware_conflicts_.accesses(i)) own.add(t);
    if (conflict(own, own, loops) || conflict(own, open.accesses, loops)) return false;
    return axes == open.axes || !conflict(open.accesses, open.accesses, loops);
  }
  bool conflict(const AccessSet& some, const AccessSet& others,
                const std::vector<std::string>& loops) {
    const bool same = &some == &others;
    const auto& all = some.all();
    return std::any_of(all.begin(), all.end(), [&](const StatementAccess* y) {
      return (!same || y->write) && others.any_beside(*y, [&](const StatementAccess& x) {
        return may_conflict(x, *y, loops);
      });
    });
  }
  /// Where that takes too long to find out, they run in kernels of their own.
  bool may_conflict(const StatementAccess& x, const StatementAccess& y,
                    const std::vector<std::string>& loops) {
    try {
      const IslBudget budget(kConflictOperations);
      return hardware_conflicts_.meet_across_groups(x, y, loops);
    } catch (const IslQuota&) { return true; }
  }

  /// Groups do not wait for one another inside of a kernel: none may need what another one does.
  void require_apart(const Open& open, const std::vector<std::string>& loops) {
    hardware_conflicts_.in_kernel_with(open.axes);
    AccessSet all;
    std::set<std::string> written;
    for (int i : open.insns)
      for (const StatementAccess& t : hardware_conflicts_.accesses(i)) {
        all.add(t);
        if (t.write) written.insert(t.variable);
      }
    for (const StatementAccess* x : all.all()) {
      if (!written.count(x->variable)) continue;
      all.any_beside(*x, [&](const StatementAccess& y) {
        if (const auto conflict = hardware_conflicts_.across_groups(*x, y, loops))
          fail("unsupported", k_.instructions[static_cast<std::size_t>(y.insn)]->at,
               "groups of one kernel would meet in `{}`: {}; they cannot wait for one another in a "
               "loop over groups; {}",
               x->variable, hardware_conflicts_.describe(*x, y, *conflict), way_out(*x));
        return false;
      });
    }
  }

  /// A loop in which groups wait for one another, up to what a group computes.
  [[noreturn]] void refuse_bound(const PlanNode& loop, const std::string& bound) const {
    std::set<std::string> waiting;  // groups that the bound does not tell apart
    std::vector<int> inside;
    instructions_of(loop, inside);
    for (int i : inside)
      for (const std::string& n : k_.instructions[static_cast<std::size_t>(i)]->inames)
        if (is_group(n)) waiting.insert(n);
    Span at = k_.at;
    for (const InsnPtr& i : k_.instructions) {
      if (!writes(*i).count(bound)) continue;
      at = i->at;
      std::erase_if(waiting, [&](const std::string& n) { return i->inames.count(n) > 0; });
    }
    fail("unsupported", at,
         "the loop over `{}` runs on the host, because all groups wait in it, but its bounds need "
         "`{}`, which is computed on the device{}",
         loop.iname(), bound,
         waiting.empty() ? ""
                         : fmt::format("; untag_inames(\"{}\") lets each group wait for itself",
                                       fmt::join(waiting, ", ")));
  }

  /// What would let them run: memory of their own, or one group.
  std::string way_out(const StatementAccess& x) const {
    const std::set<std::string>& own = k_.instructions[static_cast<std::size_t>(x.insn)]->inames;
    std::set<std::string> groups, shared;
    for (const std::string& n : own)
      if (is_group(n)) groups.insert(n);
    shared = groups;
    for (const InsnPtr& i : k_.instructions)
      if (writes(*i).count(x.variable) || reads(k_, *i).count(x.variable))
        std::erase_if(shared, [&](const std::string& n) { return !i->inames.count(n); });
    if (k_.find_temporary(x.variable) && !shared.empty())
      return fmt::format(
          "privatize_temporaries_with_inames(\"{}\", \"{}\") gives each of them its own",
          fmt::join(shared, ", "), x.variable);
    return fmt::format("untag_inames(\"{}\") runs it in one group", fmt::join(groups, ", "));
  }

  void close(Open& open, const std::vector<std::string>& loops, std::vector<PlanNode>& out) {
    if (open.nodes.empty()) return;
    if (std::all_of(open.insns.begin(), open.insns.end(), [&](int i) {
          return k_.instructions[static_cast<std::size_t>(i)]->kind == InsnKind::Barrier;
        })) {  // kernels wait for one another anyway
      open = Open();
      return;
    }
    if (open.conflicts) require_apart(open, loops);
    LaunchPlan launch;
    launch.host_loops = loops;
    std::set<std::string> inames;
    for (int i : open.insns)
      for (const std::string& n : k_.instructions[static_cast<std::size_t>(i)]->inames)
        if (plan_.hardware.count(n)) inames.insert(n);
    launch.inames.assign(inames.begin(), inames.end());
    for (const std::string& n : launch.inames) {
      const HardwareIname& h = plan_.hardware.at(n);
      Expr& number = (h.group ? launch.groups : launch.items).at(static_cast<std::size_t>(h.axis));
      number = number ? larger(k_, number, h.extent) : h.extent;
    }
    std::array<bool, 3> spread{};
    for (int axis = 0; axis < kDeviceAxes; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      spread.at(at) = all_spread(open.insns, true, axis);
      for (const bool group : {true, false})
        if (Expr& number = (group ? launch.groups : launch.items).at(at);
            number && !never_idle(number) &&
            !(group ? spread.at(at) : all_spread(open.insns, false, axis))) {
          (group ? launch.one_group : launch.one_item).at(at) = true;
          number = call("max", {number, lit(1)});
        }
    }
    leave_out_idle_groups(plan_, launch, spread);
    out.push_back({PlanKernel{static_cast<int>(plan_.launches.size())}, std::move(open.nodes)});
    plan_.launches.push_back(std::move(launch));
    open = Open();
  }

  bool never_idle(const Expr& number) const { return never_exceeds(k_, lit(1), number); }

  /// Whether all of the statements are spread over the axis. Another one runs once, also where the
  /// axis has nothing to do.
  bool all_spread(const std::vector<int>& insns, bool group, int axis) const {
    const auto spread = [&](const std::string& n) {
      const auto h = plan_.hardware.find(n);
      return h != plan_.hardware.end() && h->second.group == group && h->second.axis == axis;
    };
    return std::all_of(insns.begin(), insns.end(), [&](int i) {
      const Instruction& insn = *k_.instructions[static_cast<std::size_t>(i)];
      return insn.kind == InsnKind::Barrier || insn.kind == InsnKind::Nop ||
             std::any_of(insn.inames.begin(), insn.inames.end(), spread);
    });
  }

  Plan& plan_;
  const Kernel& k_;
  Variables variables_;
  HardwareConflicts hardware_conflicts_;
};

/// The temporary that one kernel writes and another one reads, if its memory ends with the kernel.
class Crossings {
 public:
  Crossings(const Plan& plan, const Reference& reference)
      : plan_(plan), k_(plan.kernel), reference_(reference) {
    for (const PlanNode& n : plan.roots) visit(n, std::nullopt);
  }

  /// Makes those global whose value is one for all work-items. True when there were any.
  bool settle(std::map<std::string, AddressSpace>& spaces) const {
    bool changed = false;
    for (const auto& [name, uses] : uses_) {
      if (spaces.at(name) == AddressSpace::Global) continue;
      const Temporary& t = *k_.find_temporary(name);
      if (t.read_only) continue;
      const std::pair<int, int> pair = crossing(name, uses);
      if (pair.first < 0) continue;
      const bool one_value = std::none_of(uses.begin(), uses.end(), [&](const Use& u) {
        return u.writes && std::any_of(insn(u.insn).inames.begin(), insn(u.insn).inames.end(),
                                       [&](const auto& n) { return plan_.hardware.count(n) > 0; });
      });
      const bool ours = std::any_of(uses.begin(), uses.end(), [&](const Use& u) {
        return u.writes && insn(u.insn).role == ReductionRole::Init;
      });
      if (!one_value || (t.space != AddressSpace::Auto && !ours))
        fail("needs-reload", insn(pair.second).at,
             "`{}` reads `{}`, which `{}` writes in an earlier kernel, but its memory ends with "
             "that kernel; privatize_temporaries_with_inames and set_temporary_address_space to "
             "`global` make it outlive that, as does a written barrier (add_barrier) with "
             "save_and_reload_temporaries",
             insn(pair.second).id, name, insn(pair.first).id);
      spaces.at(name) = AddressSpace::Global;
      changed = true;
    }
    return changed;
  }

 private:
  struct Use {
    int insn;
    std::optional<int> launch;  // none: the host
    bool reads, writes;
  };

  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  void visit(const PlanNode& n, std::optional<int> launch) {
    if (n.kernel()) launch = n.kernel()->launch;
    for (int i : n.insns()) {
      std::map<std::string, Use> own;
      const auto use = [&](const std::string& v) -> Use* {
        if (!k_.find_temporary(v)) return nullptr;
        return &own.try_emplace(v, Use{i, launch, false, false}).first->second;
      };
      for_each_name_read(k_, reference_.variables, insn(i), [&](const std::string& v) {
        if (Use* u = use(v)) u->reads = true;
      });
      for (const std::string& v : writes(insn(i)))
        if (Use* u = use(v)) {
          u->writes = true;
          u->reads |= insn(i).role == ReductionRole::Update;
        }
      for (auto& [v, u] : own) uses_[v].push_back(u);
    }
    for (const PlanNode& c : n.children) visit(c, launch);
  }

  /// A writer and a reader in different kernels, or in different runs of the same one.
  std::pair<int, int> crossing(const std::string& name, const std::vector<Use>& uses) const {
    for (const Use& w : uses)
      for (const Use& r : uses)
        if (w.writes && r.reads && w.launch != r.launch) return {w.insn, r.insn};
    if (uses.empty() || !uses[0].launch) return {-1, -1};
    const LaunchPlan& launch = plan_.launches[static_cast<std::size_t>(*uses[0].launch)];
    if (launch.host_loops.empty()) return {-1, -1};
    const std::vector<std::string>& fresh = reference_.private_to(name);
    if (std::find(fresh.begin(), fresh.end(), launch.host_loops.back()) != fresh.end())
      return {-1, -1};
    for (const Use& w : uses)
      for (const Use& r : uses)
        if (w.writes && r.reads) return {w.insn, r.insn};
    return {-1, -1};
  }

  const Plan& plan_;
  const Kernel& k_;
  const Reference& reference_;
  std::map<std::string, std::vector<Use>> uses_;  // in order of execution
};

/// The most that `e` is for any parameters that the kernel allows, where there is such a number.
std::optional<std::int64_t> most(const Kernel& k, const Expr& e) {
  const std::vector<std::string> dims{k.fresh_name("value")};
  const auto value = to_condition(Expr(Compare{CompareOp::Eq, var(dims[0]), e}), dims);
  if (!value) return std::nullopt;
  const Set all = isl_set_intersect_params(value->copy(), context_of(k).take());
  const Val v = isl_set_dim_max_val(all.copy(), 0);
  return yes(isl_val_is_int(v.get())) ? std::optional(to_int(v)) : std::nullopt;
}

/// The axes of an array that has one place for each group or, `items`, work-item, along which all
/// statements are at the number of their own: along these each group has the one place.
std::set<std::size_t> own_axes(const Plan& plan, const std::string& name, std::size_t rank,
                               bool items) {
  const Kernel& k = plan.kernel;
  std::set<std::size_t> out;
  for (std::size_t d = 0; d < rank; ++d) out.insert(d);
  std::vector<Expr> at(rank);
  const Variables variables(k);
  for (const InsnPtr& i : k.instructions)
    for (const Access& a : statement_accesses(*i, variables)) {
      if (a.variable != name) continue;
      if (a.index.size() != rank) return {};
      for (std::size_t d = 0; d < rank; ++d) {
        std::set<std::string> names;
        collect_reads(a.index[d], names);
        const bool own =
            !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& n) {
              const auto h = plan.hardware.find(n);
              return h != plan.hardware.end() && (h->second.group || items);
            });
        if (!own || (at[d] && !equal(at[d], a.index[d]))) out.erase(d);
        at[d] = a.index[d];
      }
    }
  return out;
}

/// Takes the axes out of the array.
void drop_axes(Kernel& k, const std::string& name, const std::set<std::size_t>& axes) {
  const auto rest = [&](const Exprs& all) {
    Exprs out;
    for (std::size_t d = 0; d < all.size(); ++d)
      if (!axes.count(d)) out.push_back(all[d]);
    return out;
  };
  Temporary& t = k.temporaries.at(name);
  t.shape = rest(*t.shape);
  k = map_expressions(k, [&](const Instruction&, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l || l->array != name) return x;
      Exprs index = rest(l->index);
      return index.empty() ? var(name, x.at()) : load(name, std::move(index), x.at());
    });
  });
}

/// Memory of a group or a work-item has a constant size: axes that number those themselves are left
/// out, and where assumptions bound an extent, it becomes the greatest one.
void bound_own_arrays(Plan& plan) {
  for (const auto& [name, space] : plan.spaces) {
    const Temporary* t = plan.kernel.find_temporary(name);
    if (!t || space == AddressSpace::Global || !t->shape || t->strides || t->read_only) continue;
    const auto constant = [](const Expr& e) { return as_int(e).has_value(); };
    if (std::all_of(t->shape->begin(), t->shape->end(), constant)) continue;
    std::set<std::size_t> axes =
        own_axes(plan, name, t->shape->size(), space == AddressSpace::Private);
    std::erase_if(axes, [&](std::size_t d) { return constant((*t->shape)[d]); });
    if (!axes.empty()) drop_axes(plan.kernel, name, axes);
  }
  for (auto& [name, t] : plan.kernel.temporaries) {
    const auto space = plan.spaces.find(name);
    if (space == plan.spaces.end() || space->second == AddressSpace::Global) continue;
    if (!t.shape || t.strides || t.read_only) continue;
    for (Expr& extent : *t.shape)
      if (!as_int(extent))
        if (const auto n = most(plan.kernel, extent); n && *n > 0) extent = lit(*n);
  }
}

}  // namespace

void place_launches(Plan& plan, const LoopTree& tree, const std::vector<PlanNode>& roots) {
  const Reference reference(Nested{plan.kernel, tree});
  plan.known = known_values(plan.kernel);
  plan.hardware = hardware_of(plan.kernel, plan.known);
  plan.spaces = spaces_of(plan.kernel);
  find_group_reductions(plan);
  require_same_items(plan);
  const auto cut = [&] {
    do {
      plan.launches.clear();
      plan.roots = Cutter(plan).run(roots);
    } while (Crossings(plan, reference).settle(plan.spaces));
  };
  const std::set<std::string> costly = costly_for_groups(plan);
  if (costly.empty()) {
    cut();
    require_own_copies(plan);
    return bound_own_arrays(plan);
  }
  const auto before = plan.spaces;
  for (const std::string& name : costly) plan.spaces.at(name) = AddressSpace::Global;
  try {
    cut();
  } catch (const Error& e) {
    if (e.diagnostic().code != "needs-reload") throw;
    plan.spaces = before;  // what work-items keep would have to outlive a kernel
    cut();
  }
  require_own_copies(plan);
  bound_own_arrays(plan);
}

}  // namespace moonloop
