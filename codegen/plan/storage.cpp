#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "codegen/language.h"
#include "codegen/plan/auto_axes.h"
#include "codegen/plan/domains.h"
#include "codegen/plan/own_iterations.h"
#include "codegen/plan/plan.h"
#include "core/order/address_spaces.h"
#include "core/order/first_write.h"
#include "core/order/order.h"
#include "core/sets/bounded.h"

namespace moonloop {
namespace {

/// One instruction's accesses to one temporary.
struct Use : TemporaryUse {
  std::vector<Exprs> index;
};

std::size_t common_prefix(const std::vector<int>& a, const std::vector<int>& b, std::size_t most) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && n < most && a[n] == b[n]) ++n;
  return n;
}

class Storage {
 public:
  Storage(Plan& plan, const LoopTree& tree)
      : plan_(plan),
        k_(plan.kernel),
        variables_(plan.kernel),
        domains_(plan.kernel),
        iterations_(plan.kernel, tree) {
    const auto shared = [&](const auto& tag) { return is_work_item(k_.tag(tag.first)); };
    if (std::any_of(k_.iname_tags.begin(), k_.iname_tags.end(), shared)) own_.emplace(k_);
  }

  void run() {
    for (const InsnPtr& i : k_.instructions)
      if (i->role == ReductionRole::Init)
        for (const Expr& acc : i->lhs) inits_.emplace(written_name(acc), i.get());
    collect();
    index_nodes(plan_.roots);
    for (auto& [name, uses] : uses_) {
      const Temporary& t = *k_.find_temporary(name);
      if (t.initializer) continue;  // a table beside the function, or declared where it starts
      sort_by_execution(uses);
      if (const auto space = plan_.spaces.find(name);
          space != plan_.spaces.end() && space->second != AddressSpace::Private) {
        expand(t, uses, 0);
        plan_.uses[name].assign(uses.begin(), uses.end());
        continue;  // declared for the whole kernel, or on the host
      }
      expand(t, uses, shared_depth(uses));
      for (const std::vector<Use>& some : by_kernel(uses)) {
        const std::size_t depth = home(t, some, shared_depth(some));
        if (depth == 0)
          plan_.locals.push_back(name);
        else
          nodes_.at(nodes_of(some[0].insn)[depth - 1])->locals.push_back(name);
      }
      plan_.uses[name].assign(uses.begin(), uses.end());
    }
  }

 private:
  const std::vector<int>& nodes_of(int insn) const {
    return plan_.nodes_of[static_cast<std::size_t>(insn)];
  }
  const std::vector<std::string>& loops_of(int insn) const {
    return plan_.loops_of[static_cast<std::size_t>(insn)];
  }
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  void collect() {
    std::set<int> starts;
    for (const CommonTrips& t : plan_.common_trips) starts.insert(t.starts.begin(), t.starts.end());
    for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
      const int n = static_cast<int>(i);
      const Instruction& insn = *k_.instructions[i];
      if (insn.kind == InsnKind::Barrier) continue;  // of what bounds its loops, these speak
      if (insn.role == ReductionRole::Update)        // reads what it accumulates into
        for (const std::string& w : writes(insn))
          if (k_.find_temporary(w)) use(w, n).reads = true;
      for (const Access& a : statement_accesses(insn, variables_)) {
        if (!k_.find_temporary(a.variable)) continue;
        if (starts.count(n) && plan_.apart.count(a.variable)) continue;  // for all work-items
        Use& u = use(a.variable, n);
        (a.write ? u.writes : u.reads) = true;
        u.index.push_back(a.index);
      }
    }
  }

  Use& use(const std::string& name, int insn) {
    std::vector<Use>& all = uses_[name];  // ascending
    const auto it = std::lower_bound(all.begin(), all.end(), insn,
                                     [](const Use& u, int i) { return u.insn < i; });
    if (it != all.end() && it->insn == insn) return *it;
    return *all.insert(it, Use{{insn, false, false}, {}});
  }

  void index_nodes(std::vector<PlanNode>& nodes) {
    for (PlanNode& n : nodes) {
      nodes_[n.id] = &n;
      for (int i : n.insns()) {
        position_[i] = sequence_.size();
        sequence_.push_back(i);
      }
      index_nodes(n.children);
    }
  }
  void sort_by_execution(std::vector<Use>& uses) const {
    std::stable_sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) {
      return position_.at(a.insn) < position_.at(b.insn);
    });
  }

  /// The uses in each kernel of a device: it has the temporary for itself, since no value of a
  /// private one passes from one to another.
  std::vector<std::vector<Use>> by_kernel(const std::vector<Use>& uses) const {
    std::vector<std::vector<Use>> out;
    int latest = -1;
    for (const Use& u : uses) {
      const std::vector<std::string>& loops = loops_of(u.insn);
      const auto kernel = std::find(loops.begin(), loops.end(), "");
      const int id = kernel == loops.end()
                         ? -1
                         : nodes_of(u.insn)[static_cast<std::size_t>(kernel - loops.begin())];
      if (out.empty() || id != latest) out.emplace_back();
      latest = id;
      out.back().push_back(u);
    }
    return out;
  }

  /// Number of loops around all uses.
  std::size_t shared_depth(const std::vector<Use>& uses) const {
    std::size_t depth = nodes_of(uses[0].insn).size();
    for (const Use& u : uses)
      depth = common_prefix(nodes_of(uses[0].insn), nodes_of(u.insn), depth);
    return depth;
  }

  /// Loops whose iterations may each have their own copy.
  bool splits_storage(const std::string& iname) const {
    const InameTag* tag = k_.tag(iname);
    return is_spread(tag) || (tag && run_of(tag->kind) == TagRun::Vector);
  }

  /// Whether the loop over work-items, whose iterations run in the lanes of a gang, is around all
  /// uses of a temporary of which each of them has its own, without a copy for each in an array.
  bool is_gang_of_owners(const Temporary& t, const std::string& iname) const {
    return features_of(plan_.target).gangs && is_work_item(k_.tag(iname)) && own_ &&
           own_->has(t.name, iname) && !has_copies_for_items(t.name);
  }
  /// Those for `ilp` and `vec` iterations have inames as their axes.
  bool has_copies_for_items(const std::string& name) const {
    const auto it = plan_.expansions.find(name);
    return it != plan_.expansions.end() &&
           std::any_of(it->second.axes.begin(), it->second.axes.end(),
                       [&](const std::string& axis) { return !k_.has_iname(axis); });
  }

  /// The first use writes the scalar in every iteration of the innermost of the `depth` loops, so
  /// that no iteration sees what another one left.
  bool starts_fresh(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) const {
    const int first = uses.front().insn, last = uses.back().insn;
    if (nodes_of(first).size() != depth) return false;
    return begins_with_write(k_, t, variables_, insns_of(uses), [&] {
      const std::span<const int> all = sequence_;
      std::size_t end = position_.at(last) + 1;  // of the last one's loops
      const auto deeper = [&](int i) {
        return common_prefix(nodes_of(last), nodes_of(i), depth + 1) > depth;
      };
      while (end < all.size() && deeper(all[end])) ++end;
      return all.first(end).subspan(position_.at(first));
    });
  }

  /// How many loops stand outside of the place where the temporary lives.
  std::size_t home(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) {
    if (t.space == AddressSpace::Global || t.initializer) return 0;
    if (!plan_.expansions.count(t.name))
      for (std::size_t d = depth; d > 0; --d)
        if (starts_fresh(t, uses, d)) return d;
    const std::vector<std::string>& loops = loops_of(uses[0].insn);
    for (std::size_t d = depth; d > 0; --d) {
      const std::string& iname = loops[d - 1];
      if (iname.empty()) return d;  // a kernel on the device
      if (is_gang_of_owners(t, iname)) return d;
      if (!splits_storage(iname)) continue;
      if (plan_.spaces.empty() && t.space == AddressSpace::Auto &&
          indexes_everywhere(uses, iname) && are_apart(t, uses, d))
        continue;
      if (is_kept(t, uses, d)) continue;
      return d;
    }
    return 0;
  }

  /// Whether the temporary may keep a value in a sequential loop around the parallel one, the
  /// innermost of the `depth` loops.
  bool is_kept(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) {
    const std::vector<std::string>& loops = loops_of(uses[0].insn);
    const auto end = loops.begin() + std::ptrdiff_t(depth) - 1;
    if (std::all_of(loops.begin(), end,
                    [&](const std::string& i) { return i.empty() || splits_storage(i); }))
      return false;
    return iterations_.may_share(t.name, insns_of(uses), loops[depth - 1], {loops.begin(), end});
  }
  static std::vector<int> insns_of(const std::vector<Use>& uses) {
    std::vector<int> out;
    for (const Use& u : uses) out.push_back(u.insn);
    return out;
  }
  /// Whether iterations of the innermost of the `depth` loops use elements of their own.
  bool are_apart(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) {
    const std::vector<std::string>& loops = loops_of(uses[0].insn);
    return iterations_.apart(t.name, insns_of(uses), loops[depth - 1],
                             {loops.begin(), loops.begin() + std::ptrdiff_t(depth) - 1});
  }

  static bool indexes_everywhere(const std::vector<Use>& uses, const std::string& iname) {
    for (const Use& u : uses)
      for (const Exprs& index : u.index) {
        std::set<std::string> names;
        for (const Expr& e : index) collect_vars(e, names);
        if (!names.count(iname)) return false;
      }
    return true;
  }

  // ---- Copies per work-item.

  /// Work-items of the instruction that have copies of `temporary`: of its accumulator not those
  /// that a reduction runs over, which here add to it in turn.
  std::vector<std::string> items(int i, const std::string& temporary) const {
    std::vector<std::string> out;
    const Instruction* start = nullptr;
    if (insn(i).role == ReductionRole::Update && writes(insn(i)).count(temporary))
      if (const auto it = inits_.find(written_name(insn(i).lhs[0])); it != inits_.end())
        start = it->second;
    for (const std::string& n : insn(i).inames)
      if (is_work_item(k_.tag(n)) && !(start && !start->inames.count(n))) out.push_back(n);
    return out;
  }

  /// Each work-item has its own, and more than one writes it.
  bool is_private(const Temporary& t, const std::vector<Use>& uses) const {
    return own_ && own_->per_item(t.name) &&
           std::any_of(uses.begin(), uses.end(),
                       [&](const Use& u) { return u.writes && !items(u.insn, t.name).empty(); });
  }

  bool must_expand(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) const {
    std::set<std::string> wanted;  // work-items that tell the copies apart
    for (const Use& u : uses)
      if (u.writes)
        for (const std::string& n : items(u.insn, t.name)) wanted.insert(n);
    const std::vector<std::string>& loops = loops_of(uses[0].insn);
    std::size_t outermost = depth;  // of the loops over work-items around all uses
    for (std::size_t d = depth; d > 0; --d)
      if (is_work_item(k_.tag(loops[d - 1]))) {
        wanted.erase(loops[d - 1]);
        outermost = d - 1;
      }
    if (!wanted.empty()) return true;
    for (std::size_t d = depth; d > 0; --d)
      if (starts_fresh(t, uses, d)) return d <= outermost;
    for (std::size_t d = 0; d < outermost; ++d)
      if (!is_spread(k_.tag(loops[d])))
        return true;  // a value may pass from iteration to iteration
    return false;
  }

  struct Range {
    Expr first, length;
  };
  Range range_of(const std::string& iname, const Instruction& insn) {
    Set s = domains_.of({iname});
    const LocalSpace space = isl_local_space_from_space(isl_set_get_space(s.get()));
    const Aff x = isl_aff_var_on_domain(space.copy(), isl_dim_set, 0);
    Val low = isl_set_min_val(s.get(), x.get()), high = isl_set_max_val(s.get(), x.get());
    if (yes(isl_val_is_int(low.get())) && yes(isl_val_is_int(high.get())))
      return {lit(to_int(low)), lit(to_int(high) - to_int(low) + 1)};
    const bool items = is_work_item(k_.tag(iname));
    const std::vector<std::string> params = param_names(s);
    const bool computed = std::any_of(params.begin(), params.end(), [&](const std::string& p) {
      return k_.find_temporary(p) != nullptr;
    });
    if (!items || computed || !is_bounded(s, 0))
      fail("unsupported", insn.at,
           "instruction `{}` is spread over the {} of `{}`, whose number {}", insn.id,
           items ? "work-items" : "lanes", iname,
           computed ? "is computed in the kernel" : "has no constant bound");
    const Expr first = range_end(s, true);
    return {first, index_add({range_end(s, false), index_mul(lit(-1), first), lit(1)})};
  }

  /// Copies lie in memory as the loops over them nest, which vectors are loaded from: work-items,
  /// the highest axis outside, then `ilp` in the order of the loops, `vec` inside.
  std::pair<int, std::ptrdiff_t> depth_of_axis(const std::string& axis) const {
    const InameTag* tag = k_.has_iname(axis) ? k_.tag(axis) : nullptr;
    if (!tag || !is_lane(tag)) return {0, -std::strtol(axis.c_str() + 2, nullptr, 10)};
    const auto at = std::find(k_.loop_order.begin(), k_.loop_order.end(), axis);
    return {tag->kind == TagKind::Ilp ? 1 : 2, at - k_.loop_order.begin()};
  }

  /// Gives the temporary axes for the work-items, or `ilp` and `vec` iterations, that each have
  /// their own. On a device each work-item has its own without that.
  void expand(const Temporary& t, const std::vector<Use>& uses, std::size_t depth) {
    const bool by_item = plan_.spaces.empty() && is_private(t, uses) && must_expand(t, uses, depth);
    std::vector<std::string> lanes;
    if (const auto it = plan_.lane_copies.find(t.name); it != plan_.lane_copies.end()) {
      const std::vector<std::string>& around = loops_of(uses[0].insn);
      for (const std::string& n : it->second)  // inside of its loop it needs no copies
        if (std::find(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(depth), n) ==
            around.begin() + static_cast<std::ptrdiff_t>(depth))
          lanes.push_back(n);
    }
    if (!by_item && lanes.empty()) return;
    const auto items = [&](int i) {
      std::vector<std::string> out = by_item ? this->items(i, t.name) : std::vector<std::string>();
      for (const std::string& n : lanes)
        if (insn(i).inames.count(n)) out.push_back(n);
      return out;
    };
    Expansion e;
    std::set<std::string> axes;
    for (const Use& u : uses)
      if (u.writes)
        for (const std::string& n : items(u.insn)) axes.insert(copy_axis(k_, n));
    for (const Use& u : uses)
      for (const std::string& n : items(u.insn)) {
        if (!axes.count(copy_axis(k_, n))) continue;
        const Range r = range_of(n, insn(u.insn));
        const auto it = std::find(e.axes.begin(), e.axes.end(), copy_axis(k_, n));
        if (it == e.axes.end()) {
          e.axes.push_back(copy_axis(k_, n));
          e.extent.push_back(r.length);
        } else {
          Expr& extent = e.extent[static_cast<std::size_t>(it - e.axes.begin())];
          extent = larger(k_, extent, r.length);
        }
      }
    std::vector<std::size_t> order(e.axes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return depth_of_axis(e.axes[a]) < depth_of_axis(e.axes[b]);
    });
    Expansion sorted;
    for (std::size_t i : order) {
      sorted.axes.push_back(e.axes[i]);
      sorted.extent.push_back(e.extent[i]);
    }
    for (const Use& u : uses) {
      Exprs index(sorted.axes.size());
      for (const std::string& n : items(u.insn)) {
        if (!axes.count(copy_axis(k_, n))) continue;
        const auto at = std::find(sorted.axes.begin(), sorted.axes.end(), copy_axis(k_, n));
        index[static_cast<std::size_t>(at - sorted.axes.begin())] =
            index_sub(var(n), range_of(n, insn(u.insn)).first);
      }
      for (const Expr& i : index)
        if (!i)
          fail("unsupported", insn(u.insn).at,
               "instruction `{}` uses `{}`, of which each work-item has its own, but is not spread "
               "over the same work-items",
               insn(u.insn).id, t.name);
      sorted.index.emplace(u.insn, std::move(index));
    }
    plan_.expansions.emplace(t.name, std::move(sorted));
  }

  Plan& plan_;
  const Kernel& k_;
  Variables variables_;
  Domains domains_;
  OwnIterations iterations_;
  std::optional<OwnCopies> own_;                               // nothing without work-items
  std::unordered_map<std::string, const Instruction*> inits_;  // by accumulator
  NameMap<std::vector<Use>> uses_;
  std::unordered_map<int, PlanNode*> nodes_;
  std::vector<int> sequence_;  // instructions in order of execution
  std::unordered_map<int, std::size_t> position_;
};

}  // namespace

void place_temporaries(Plan& plan, const LoopTree& tree) { Storage(plan, tree).run(); }

}  // namespace moonloop
