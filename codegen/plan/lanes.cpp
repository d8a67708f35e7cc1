#include <algorithm>

#include "codegen/plan/domains.h"
#include "codegen/plan/plan.h"
#include "codegen/plan/team_conflicts.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"

// Inames tagged `ilp` and `vec`: a statement runs for all their values before the next one does.
namespace moonloop {
namespace {

using Lanes = std::vector<std::string>;  // inames

/// By instruction, its lanes, innermost first: `vec`, then `ilp` in the order of the loops.
Lanes lanes_of(const Kernel& k, const Instruction& insn) {
  Lanes out;
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

PlanNode within(PlanNode node, const Lanes& lanes) {
  for (const std::string& iname : lanes) {
    std::vector<PlanNode> body;
    body.push_back(std::move(node));
    node = PlanNode::over(iname, std::move(body));
  }
  return node;
}

/// The lanes that each have an accumulator of the reduction of their own.
Lanes lanes_of(const Plan& plan, const GroupReduction& r) {
  const Instruction& update = *plan.kernel.instructions[static_cast<std::size_t>(r.update)];
  Lanes out = lanes_of(plan.kernel, update);
  const auto own = plan.lane_copies.find(written_name(update.lhs[0]));
  std::erase_if(out, [&](const std::string& i) {
    return own == plan.lane_copies.end() ||
           std::find(own->second.begin(), own->second.end(), i) == own->second.end();
  });
  return out;
}

/// Puts loops over lanes around each statement. Where a loop has as many iterations as a lane says,
/// they stand around that loop and what computes its bounds: each lane then runs all of this before
/// the next one does, which no lane may need of another. Where lanes have some of these loops in
/// common (common_trips.cpp), or work-items wait in between, each has a copy of the bounds instead.
class LanePlacer {
 public:
  explicit LanePlacer(const Plan& plan)
      : plan_(plan), k_(plan.kernel), variables_(k_), domains_(k_), own_(k_), conflicts_(k_) {
    for (const std::string& t : domains_.data())
      if (plan.lane_copies.count(t)) bounds_.insert(t);
    for (const PlanNode& n : plan.roots) find_common(n);
  }

  /// `around`: the loops outside of `nodes`; `taken`: the lanes among them.
  void place(std::vector<PlanNode>& nodes, const Lanes& around, const Lanes& taken) {
    if (!bounds_.empty()) join_bounded(nodes, around, taken);
    std::vector<PlanNode> out;
    for (PlanNode& n : nodes) {
      Lanes inside = around, lanes = taken;
      if (n.is_loop()) inside.push_back(n.iname());
      if (n.is_loop() && is_lane(k_.tag(n.iname()))) lanes.push_back(n.iname());
      place(n.children, inside, lanes);
      if (const PlanReduction* own = n.reduction()) {
        const auto r = static_cast<std::size_t>(own->reduction);
        out.push_back(within(std::move(n), without(lanes_of(plan_, plan_.reductions[r]), taken)));
        continue;
      }
      if (!n.is_statements()) {
        out.push_back(std::move(n));
        continue;
      }
      for (int i : n.insns()) {
        const Lanes own = without(lanes_of(k_, insn(i)), taken);
        if (own.empty() && !out.empty() && out.back().is_statements()) {
          out.back().statements().push_back(i);
          continue;
        }
        out.push_back(within(PlanNode::of({i}), own));
      }
    }
    nodes = std::move(out);
  }

 private:
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }
  static Lanes without(Lanes all, const Lanes& some) {
    std::erase_if(all, [&](const std::string& n) {
      return std::find(some.begin(), some.end(), n) != some.end();
    });
    return all;
  }
  static void instructions_of(const PlanNode& n, std::vector<int>& out) {
    out.insert(out.end(), n.insns().begin(), n.insns().end());
    for (const PlanNode& c : n.children) instructions_of(c, out);
  }

  /// Whether each lane runs the loop as often as its own value of the temporary says.
  bool needs(const PlanNode& n, const std::string& name) const {
    if (!n.is_loop() || n.common_trips()) return false;
    const std::vector<std::string> all = domains_.data_of(n.iname());
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  /// Whether that is so of a loop in the node.
  bool bounded_by(const PlanNode& n, const std::string& name) const {
    return needs(n, name) || std::any_of(n.children.begin(), n.children.end(),
                                         [&](const PlanNode& c) { return bounded_by(c, name); });
  }
  bool uses(const PlanNode& n, const std::string& name) const {
    std::vector<int> all;
    instructions_of(n, all);
    return bounded_by(n, name) || std::any_of(all.begin(), all.end(), [&](int i) {
             return writes(insn(i)).count(name) > 0 || reads(k_, insn(i)).count(name) > 0;
           });
  }

  void find_common(const PlanNode& n) {
    if (n.common_trips())
      for (const std::string& t : domains_.data_of(n.iname()))
        if (bounds_.count(t)) common_.insert(t);
    for (const PlanNode& c : n.children) find_common(c);
  }

  /// Nodes from the first to the last that use the temporary, one of them a loop that it bounds.
  struct Range {
    std::size_t first, last;
    std::set<std::string> lanes;
  };
  std::optional<Range> range_of(const std::vector<PlanNode>& nodes, const std::string& name,
                                const Lanes& taken) const {
    const Lanes open = without(plan_.lane_copies.at(name), taken);
    if (open.empty()) return std::nullopt;
    std::optional<Range> out;
    bool bounds = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!uses(nodes[i], name)) continue;
      bounds = bounds || bounded_by(nodes[i], name);
      if (!out) out = Range{i, i, {open.begin(), open.end()}};
      out->last = i;
    }
    return bounds && out->first < out->last ? out : std::nullopt;  // none, or further inside
  }

  void join_bounded(std::vector<PlanNode>& nodes, const Lanes& around, const Lanes& taken) {
    std::vector<PlanNode> apart;  // a statement each
    for (PlanNode& n : nodes) {
      if (!n.is_statements()) {
        apart.push_back(std::move(n));
        continue;
      }
      for (int i : n.insns()) apart.push_back(PlanNode::of({i}));
    }
    std::vector<Range> ranges;
    for (const std::string& t : bounds_) {
      const auto r = common_.count(t) ? std::nullopt : range_of(apart, t, taken);
      if (r &&
          std::none_of(apart.begin() + long(r->first), apart.begin() + long(r->last), waits_in)) {
        ranges.push_back(*r);
        continue;
      }
      const Lanes open = without(plan_.lane_copies.at(t), taken);  // each has a copy everywhere
      for (std::size_t i = 0; i < apart.size() && !open.empty(); ++i)
        if (needs(apart[i], t)) ranges.push_back(Range{i, i, {open.begin(), open.end()}});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    std::vector<Range> merged;
    for (const Range& r : ranges) {
      if (merged.empty() || merged.back().last < r.first) {
        merged.push_back(r);
        continue;
      }
      merged.back().last = std::max(merged.back().last, r.last);
      merged.back().lanes.insert(r.lanes.begin(), r.lanes.end());
    }
    nodes.clear();
    std::size_t next = 0;
    for (const Range& r : merged) {
      for (; next < r.first; ++next) nodes.push_back(std::move(apart[next]));
      std::vector<PlanNode> body;
      for (; next <= r.last; ++next) body.push_back(std::move(apart[next]));
      const Lanes team(r.lanes.begin(), r.lanes.end());
      if (const auto why = objection(body, team, around))
        fail("unsupported", insn(why->insn).at,
             "a loop has as many iterations as each value of `{0}`, tagged `{1}`, says, so that "
             "these would run one after the other, but {2}; untag_inames(\"{0}\") runs them in "
             "order",
             team.front(), k_.tag(team.front())->text, why->text);
      while (next < apart.size() && continues(body, apart[next])) {
        body.push_back(apart[next]);
        if (objection(body, team, around)) {
          body.pop_back();
          break;
        }
        ++next;
      }
      nodes.push_back(joined(std::move(body), r.lanes));
    }
    for (; next < apart.size(); ++next) nodes.push_back(std::move(apart[next]));
  }

  /// Whether a statement uses what its lane has from those before.
  bool continues(const std::vector<PlanNode>& body, const PlanNode& next) const {
    if (!next.is_statements()) return false;
    std::vector<int> all;
    for (const PlanNode& n : body) instructions_of(n, all);
    const std::set<std::string> read = reads(k_, insn(next.insns().front()));
    return std::any_of(all.begin(), all.end(), [&](int i) {
      const std::set<std::string> own = writes(insn(i));
      return std::any_of(own.begin(), own.end(), [&](const std::string& w) {
        return plan_.lane_copies.count(w) > 0 && read.count(w) > 0;
      });
    });
  }

  /// Why the lanes cannot run all of this one after the other.
  struct Objection {
    int insn;
    std::string text;
  };
  std::optional<Objection> objection(const std::vector<PlanNode>& body, const Lanes& team,
                                     const Lanes& around) {
    std::vector<int> all;
    for (const PlanNode& n : body) instructions_of(n, all);
    if (std::any_of(body.begin(), body.end(), waits_in))
      return Objection{all.front(), "work-items wait for one another in it"};
    std::vector<StatementAccess> accesses;
    for (int i : all) {
      for (const std::string& n : team)
        if (!insn(i).inames.count(n))
          return Objection{i, fmt::format("`{}` is not in that loop", insn(i).id)};
      for (const Access& a : statement_accesses(insn(i), variables_))
        if (!std::all_of(team.begin(), team.end(),
                         [&](const std::string& n) { return own_.has(a.variable, n); }))
          accesses.push_back({a, i});
    }
    for (const StatementAccess& x : accesses)
      for (const StatementAccess& y : accesses)
        if (conflicts_.cross(x, y, team, around))
          return Objection{y.insn, fmt::format("`{}` and `{}` may meet in `{}`", insn(x.insn).id,
                                               insn(y.insn).id, x.variable)};
    return std::nullopt;
  }

  PlanNode joined(std::vector<PlanNode> body, const std::set<std::string>& lanes) const {
    std::vector<int> all;
    instructions_of(body.front(), all);
    Lanes order = lanes_of(k_, insn(all.front()));  // innermost first
    std::erase_if(order, [&](const std::string& n) { return !lanes.count(n); });
    for (const std::string& iname : order) {
      PlanNode loop = PlanNode::over(iname, std::exchange(body, {}));
      body.push_back(std::move(loop));
    }
    return std::move(body.front());
  }

  const Plan& plan_;
  const Kernel& k_;
  Variables variables_;
  Domains domains_;
  OwnCopies own_;
  TeamConflicts conflicts_;
  std::set<std::string> bounds_;  // temporaries of lanes that bound loops
  std::set<std::string> common_;  // those of which lanes have some loop in common
};

}  // namespace

/// Refuses a scalar that one statement of a lane leaves for the next one, but that the lanes have
/// in common: it is used outside of their loop too, and as a loop's bound it keeps its one name
/// (own_webs.cpp).
static void require_lane_copies(const Plan& plan, const std::set<std::string>& lanes) {
  const Kernel& k = plan.kernel;
  const std::set<std::string> trusted = trusted_inames(k);
  std::map<std::pair<std::string, std::string>, const Instruction*> shared;  // its writer in a lane
  for (const InsnPtr& i : k.instructions) {
    if (i->atomic != Atomicity::None || i->role != ReductionRole::None) continue;
    for (const std::string& name : writes(*i)) {
      const Temporary* t = k.find_temporary(name);
      if (!t || t->space == AddressSpace::Global || (t->shape && !t->shape->empty())) continue;
      const auto copies = plan.lane_copies.find(name);
      for (const std::string& lane : lanes)
        if (i->inames.contains(lane) && !trusted.contains(lane) &&
            (copies == plan.lane_copies.end() ||
             std::find(copies->second.begin(), copies->second.end(), lane) == copies->second.end()))
          shared.emplace(std::pair(name, lane), i.get());
    }
  }
  if (shared.empty()) return;
  const Variables variables(k);
  for (const InsnPtr& i : k.instructions)
    for_each_name_read(k, variables, *i, [&](const std::string& name) {  // by its loops' bounds too
      for (const std::string& lane : i->inames)
        if (const auto it = shared.find({name, lane}); it != shared.end() && it->second != i.get())
          fail("unsupported", it->second->at,
               "each iteration of `{0}`, tagged `{1}`, has a `{2}` of its own, which is used "
               "outside of the loop too; a temporary of another name there would do",
               lane, k.tag(lane)->text, name);
    });
}

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
  require_lane_copies(plan, lanes);
}

void place_lanes(Plan& plan) {
  const auto& tags = plan.kernel.iname_tags;
  if (std::any_of(tags.begin(), tags.end(), [](const auto& t) { return is_lane(&t.second); }))
    LanePlacer(plan).place(plan.roots, {}, {});
}

}  // namespace moonloop
