#include <algorithm>

#include "codegen/auto_axes.h"
#include "codegen/touch_set.h"
#include "core/address_spaces.h"
#include "core/domain.h"
#include "core/order_reference.h"

namespace moonloop {
namespace {

Expr range_end(const Set& s, bool least) {
  PwAff end = least ? isl_set_dim_min(s.copy(), 0) : isl_set_dim_max(s.copy(), 0);
  return from_affine(isl_pw_aff_coalesce(end.take()));
}

/// The inames that the hardware counts, whatever kernel they are in.
std::map<std::string, HardwareIname> hardware_of(const Kernel& k) {
  std::map<std::string, HardwareIname> out;
  for (const auto& [iname, tag] : k.iname_tags) {
    if (tag.kind != TagKind::Group && tag.kind != TagKind::Local) continue;
    if (!k.has_iname(iname)) continue;
    const Set s = domain_of(k, {iname});
    for (const std::string& p : param_names(s))
      if (k.find_temporary(p) &&
          yes(isl_set_involves_dims(
              s.get(), isl_dim_param,
              static_cast<unsigned>(isl_set_find_dim_by_name(s.get(), isl_dim_param, p.c_str())),
              1)))
        fail("unsupported", tag.at ? tag.at : k.at,
             "`{}` is tagged `{}`, but its bounds depend on `{}`, which is computed on the device",
             iname, tag.text, p);
    if (!yes(isl_set_dim_is_bounded(s.get(), isl_dim_set, 0)))
      fail("unsupported", tag.at ? tag.at : k.at, "`{}` is tagged `{}`, but has no bounds", iname,
           tag.text);
    HardwareIname h;
    h.group = tag.kind == TagKind::Group;
    h.axis = tag.axis;
    h.first = range_end(s, true);
    if (const auto n = h.group ? std::nullopt : longest(k, iname)) {
      h.extent = lit(*n);
    } else if (!h.group) {
      fail("unsupported", tag.at ? tag.at : k.at,
           "`{}` is tagged `{}`, but its number of iterations has no constant bound", iname,
           tag.text);
    } else {
      h.extent = index_add({range_end(s, false), index_mul(lit(-1), h.first), lit(1)});
    }
    out.emplace(iname, std::move(h));
  }
  return out;
}

/// Temporaries for which the user left the choice: to each work-item its own, else to the group,
/// or to all where the groups' numbers choose the element.
std::map<std::string, AddressSpace> spaces_of(const Kernel& k) {
  std::map<std::string, AddressSpace> out;
  const OwnCopies own(k);
  std::set<std::string> by_group, by_item;
  for (const InsnPtr& i : k.instructions)
    for (const Expr& target : i->lhs) {
      const bool items = std::any_of(i->inames.begin(), i->inames.end(),
                                     [&](const std::string& n) { return is_work_item(k, n); });
      if (items) by_item.insert(written_name(target));
      std::set<std::string> names;
      collect_vars(target, names);
      for (const std::string& n : names)
        if (const InameTag* t = k.tag(n); t && t->kind == TagKind::Group)
          by_group.insert(written_name(target));
    }
  for (const auto& [name, t] : k.temporaries) {
    AddressSpace space = t.space;
    if (space == AddressSpace::Private && !own.per_item(name))
      fail("unsupported", t.at ? t.at : k.at,
           "`{}` is private, but written at the number of its work-item, as memory that they share",
           name);
    if (space == AddressSpace::Auto)
      space = own.per_item(name) && (by_item.count(name) || !by_group.count(name))
                  ? AddressSpace::Private
              : by_group.count(name) ? AddressSpace::Global
                                     : AddressSpace::Local;
    out.emplace(name, space);
  }
  return out;
}

/// What a work-item or a group keeps to itself is of use only to statements that run in the same
/// ones.
void require_same_items(const Plan& plan) {
  const Kernel& k = plan.kernel;
  std::map<std::string, std::set<std::pair<bool, int>>> axes;  // of those who write it
  std::set<const Instruction*> reduced;                        // their results are everybody's
  for (const GroupReduction& r : plan.reductions)
    reduced.insert(k.instructions[static_cast<std::size_t>(r.update)].get());
  const auto axes_of = [&](const Instruction& insn, bool items) {
    std::set<std::pair<bool, int>> out;
    for (const std::string& n : insn.inames)
      if (const auto h = plan.hardware.find(n);
          h != plan.hardware.end() && (items || h->second.group))
        out.emplace(h->second.group, h->second.axis);
    return out;
  };
  for (const InsnPtr& insn : k.instructions)
    for (const std::string& w : writes(*insn))
      if (const auto s = plan.spaces.find(w);
          s != plan.spaces.end() && s->second != AddressSpace::Global && !reduced.count(insn.get()))
        axes[w].merge(axes_of(*insn, s->second == AddressSpace::Private));
  for (const InsnPtr& insn : k.instructions) {
    const auto own = axes_of(*insn, true);
    std::set<std::string> names = writes(*insn);
    for_each_read(k, *insn, [&](const std::string& n) { names.insert(n); });
    for (const std::string& n : names)
      if (const auto it = axes.find(n);
          it != axes.end() &&
          !std::includes(own.begin(), own.end(), it->second.begin(), it->second.end()))
        fail("unsupported", insn->at,
             "instruction `{}` uses `{}`, of which each {} has its own, but is not spread over the "
             "same "
             "ones",
             insn->id, n, plan.spaces.at(n) == AddressSpace::Private ? "work-item" : "group");
  }
}

class Cutter {
 public:
  explicit Cutter(Plan& plan) : plan_(plan), k_(plan.kernel), meetings_(plan) {}

  std::vector<PlanNode> run(std::vector<PlanNode> roots) { return host(std::move(roots), {}); }

 private:
  bool is_group(const std::string& iname) const {
    const InameTag* t = k_.tag(iname);
    return t && t->kind == TagKind::Group;
  }
  bool holds_groups(const PlanNode& n) const {
    return (n.is_loop() && is_group(n.iname)) ||
           std::any_of(n.insns.begin(), n.insns.end(),
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
    out.insert(out.end(), n.insns.begin(), n.insns.end());
    for (const PlanNode& c : n.children) instructions_of(c, out);
  }

  /// One kernel that is being put together.
  struct Open {
    std::vector<PlanNode> nodes;
    std::vector<int> insns;
    TouchSet touches;
  };

  std::vector<PlanNode> host(std::vector<PlanNode> nodes, const std::vector<std::string>& loops) {
    std::vector<PlanNode> out;
    Open open;
    for (PlanNode& node : nodes) {
      if (node.is_loop() && !is_group(node.iname) && holds_groups(node)) {
        close(open, loops, out);
        std::vector<std::string> inner = loops;
        inner.push_back(node.iname);
        node.children = host(std::move(node.children), inner);
        out.push_back(std::move(node));
        continue;
      }
      if (node.is_loop() && holds_barrier(node)) {
        close(open, loops, out);
        std::vector<PlanNode> parts = around_each(node.iname, std::move(node.children));
        for (PlanNode& n : host(std::move(parts), loops)) out.push_back(std::move(n));
        continue;
      }
      if (node.is_loop()) {
        add(std::move(node), open, loops, out);
        continue;
      }
      for (int i : node.insns) {
        if (is_global_barrier(i)) {
          close(open, loops, out);
          continue;
        }
        PlanNode single;
        single.insns = {i};
        add(std::move(single), open, loops, out);
      }
    }
    close(open, loops, out);
    return out;
  }

  bool holds_barrier(const PlanNode& node) const {
    std::vector<int> all;
    instructions_of(node, all);
    return std::any_of(all.begin(), all.end(), [&](int i) { return is_global_barrier(i); });
  }

  /// The children of the loop `iname` over groups, which wait for one another inside of it: groups
  /// depend on nothing of each other between, so that the loop may stand around each part instead,
  /// and sequential loops that hold a barrier outside of it.
  std::vector<PlanNode> around_each(const std::string& iname,
                                    std::vector<PlanNode> children) const {
    std::vector<PlanNode> out;
    PlanNode part;
    const auto close = [&] {
      if (part.children.empty()) return;
      part.iname = iname;
      out.push_back(std::exchange(part, {}));
    };
    for (PlanNode& c : children) {
      if (c.is_loop() && holds_barrier(c)) {
        close();
        std::vector<PlanNode> inner = around_each(iname, std::move(c.children));
        if (is_group(c.iname)) inner = around_each(c.iname, std::move(inner));
        if (is_group(c.iname)) {
          for (PlanNode& n : inner) out.push_back(std::move(n));
        } else {
          c.children = std::move(inner);
          out.push_back(std::move(c));
        }
        continue;
      }
      if (c.is_loop() || !holds_barrier(c)) {
        part.children.push_back(std::move(c));
        continue;
      }
      for (int i : c.insns) {
        PlanNode single;
        single.insns = {i};
        if (is_global_barrier(i)) {
          close();
          out.push_back(std::move(single));
        } else {
          part.children.push_back(std::move(single));
        }
      }
    }
    close();
    return out;
  }

  void add(PlanNode node, Open& open, const std::vector<std::string>& loops,
           std::vector<PlanNode>& out) {
    std::vector<int> insns;
    instructions_of(node, insns);
    if (apart(open, insns, loops)) {
      Open next = take_preparation(open);
      close(open, loops, out);
      open = std::move(next);
      note(open, open.insns);
    }
    open.insns.insert(open.insns.end(), insns.begin(), insns.end());
    note(open, insns);
    const bool joins = node.is_leaf() && !open.nodes.empty() && open.nodes.back().is_leaf();
    if (joins) {
      open.nodes.back().insns.push_back(node.insns.front());
    } else {
      open.nodes.push_back(std::move(node));
    }
  }

  /// The last statements of a kernel that only prepare what work-items keep to themselves: they
  /// belong to the kernel that follows.
  Open take_preparation(Open& open) const {
    Open out;
    if (!open.nodes.back().is_leaf()) return out;
    std::vector<int>& last = open.nodes.back().insns;
    const auto prepares = [&](int i) {
      const std::set<std::string> all = writes(*k_.instructions[static_cast<std::size_t>(i)]);
      return std::all_of(all.begin(), all.end(), [&](const std::string& w) {
        return plan_.lies_in(w, AddressSpace::Private);
      });
    };
    auto from = last.end();
    while (from != last.begin() && prepares(*(from - 1))) --from;
    out.insns.assign(from, last.end());
    if (out.insns.empty()) return out;
    last.erase(from, last.end());
    open.insns.resize(open.insns.size() - out.insns.size());
    out.nodes.emplace_back().insns = out.insns;
    if (last.empty()) open.nodes.pop_back();
    return out;
  }

  void note(Open& open, const std::vector<int>& insns) const {
    for (int i : insns)
      for (const Touch& t : meetings_.touches(i)) open.touches.add(t);
  }

  bool apart(const Open& open, const std::vector<int>& insns,
             const std::vector<std::string>& loops) {
    for (int i : insns)
      for (const Touch& y : meetings_.touches(i))
        if (open.touches.any_beside(y, [&](const Touch& x) {
              return meetings_.across_groups(x, y, loops).has_value();
            }))
          return true;
    return false;
  }

  /// Groups do not wait for one another inside of a kernel: none may need what another one does.
  void require_apart(const Open& open, const std::vector<std::string>& loops) {
    TouchSet all;
    std::set<std::string> written;
    for (int i : open.insns)
      for (const Touch& t : meetings_.touches(i)) {
        all.add(t);
        if (t.write) written.insert(t.variable);
      }
    for (const Touch* x : all.all()) {
      if (!written.count(x->variable)) continue;
      all.any_beside(*x, [&](const Touch& y) {
        if (const auto met = meetings_.across_groups(*x, y, loops))
          fail("unsupported", k_.instructions[static_cast<std::size_t>(y.insn)]->at,
               "groups of one kernel would meet in `{}`: {}; they cannot wait for one another in a "
               "loop over groups",
               x->variable, meetings_.describe(*x, y, *met));
        return false;
      });
    }
  }

  void close(Open& open, const std::vector<std::string>& loops, std::vector<PlanNode>& out) {
    if (open.nodes.empty()) return;
    require_apart(open, loops);
    LaunchPlan launch;
    launch.host_loops = loops;
    std::set<std::string> inames;
    for (int i : open.insns)
      for (const std::string& n : k_.instructions[static_cast<std::size_t>(i)]->inames)
        if (plan_.hardware.count(n)) inames.insert(n);
    launch.inames.assign(inames.begin(), inames.end());
    for (const std::string& n : launch.inames) {
      const HardwareIname& h = plan_.hardware.at(n);
      const auto at = static_cast<std::size_t>(h.axis);
      if (!h.group) {
        launch.items.at(at) = std::max(launch.items.at(at), as_int(h.extent).value());
      } else if (Expr& groups = launch.groups.at(at); !groups) {
        groups = h.extent;
      } else if (!equal(groups, h.extent)) {
        groups = call("max", {groups, h.extent});
      }
    }
    for (int axis = 0; axis < kDeviceAxes; ++axis) keep_one_group(launch, axis, open.insns);
    PlanNode node;
    node.launch = static_cast<int>(plan_.launches.size());
    node.children = std::move(open.nodes);
    plan_.launches.push_back(std::move(launch));
    out.push_back(std::move(node));
    open = Open();
  }

  /// A statement that is not spread over the axis runs once, also where the axis has nothing to do.
  void keep_one_group(LaunchPlan& launch, int axis, const std::vector<int>& insns) {
    Expr& groups = launch.groups.at(static_cast<std::size_t>(axis));
    if (!groups) return;
    const auto spread = [&](const std::string& n) {
      const auto h = plan_.hardware.find(n);
      return h != plan_.hardware.end() && h->second.group && h->second.axis == axis;
    };
    const bool all = std::all_of(insns.begin(), insns.end(), [&](int i) {
      const Instruction& insn = *k_.instructions[static_cast<std::size_t>(i)];
      return insn.kind == InsnKind::Barrier || insn.kind == InsnKind::Nop ||
             std::any_of(insn.inames.begin(), insn.inames.end(), spread);
    });
    if (all) return;
    if (const auto some = to_condition(Expr(Compare{CompareOp::Ge, groups, lit(1)}), {}))
      if (yes(isl_set_is_subset(context_of(k_).get(), all_to_params(*some).get()))) return;
    launch.at_least_one.at(static_cast<std::size_t>(axis)) = true;
    groups = call("max", {groups, lit(1)});
  }

  Plan& plan_;
  const Kernel& k_;
  Meetings meetings_;
};

/// The temporary that one kernel writes and another one reads, if its memory ends with the kernel.
class Crossings {
 public:
  Crossings(const Plan& plan, const Reference& reference)
      : plan_(plan), k_(plan.kernel), reference_(reference) {
    for (const PlanNode& n : plan.roots) visit(n, -1);
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
      if (!one_value || t.space != AddressSpace::Auto)
        fail("needs-reload", insn(pair.second).at,
             "`{}` reads `{}`, which `{}` writes in an earlier kernel, but its memory ends with "
             "that "
             "kernel",
             insn(pair.second).id, name, insn(pair.first).id);
      spaces.at(name) = AddressSpace::Global;
      changed = true;
    }
    return changed;
  }

 private:
  struct Use {
    int insn, launch;
    bool reads, writes;
  };

  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  void visit(const PlanNode& n, int launch) {
    if (n.launch >= 0) launch = n.launch;
    for (int i : n.insns) {
      std::map<std::string, Use> own;
      const auto use = [&](const std::string& v) -> Use* {
        if (!k_.find_temporary(v)) return nullptr;
        return &own.try_emplace(v, Use{i, launch, false, false}).first->second;
      };
      for_each_read(k_, insn(i), [&](const std::string& v) {
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
    if (uses.empty() || uses[0].launch < 0) return {-1, -1};
    const LaunchPlan& launch = plan_.launches[static_cast<std::size_t>(uses[0].launch)];
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

}  // namespace

void place_launches(Plan& plan, const LoopTree& tree, const std::vector<PlanNode>& roots) {
  const Reference reference(Nested{plan.kernel, tree});
  plan.hardware = hardware_of(plan.kernel);
  plan.spaces = spaces_of(plan.kernel);
  find_group_reductions(plan);
  require_same_items(plan);
  do {
    plan.launches.clear();
    plan.roots = Cutter(plan).run(roots);
  } while (Crossings(plan, reference).settle(plan.spaces));
}

}  // namespace moonloop
