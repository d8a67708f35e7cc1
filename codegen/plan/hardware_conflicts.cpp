#include "codegen/plan/hardware_conflicts.h"

#include <algorithm>

#include "core/model/match.h"
#include "core/order/order.h"

namespace moonloop {

HardwareConflicts::HardwareConflicts(const Plan& plan)
    : plan_(plan),
      k_(plan.kernel),
      conflicts_(plan.kernel),
      commuting_(plan.kernel),
      trusted_(trusted_loops(plan.kernel)) {
  for (const auto& [iname, h] : plan.hardware) axes_.insert({h.group, h.axis});
  const Variables variables(k_);
  for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
    const Instruction& insn = *k_.instructions[i];
    std::vector<StatementAccess> own;
    const auto add = [&](StatementAccess t) {
      const Argument* a = k_.find_arg(t.variable);
      if (a && !a->is_array) return;
      if (plan.lies_in(t.variable, AddressSpace::Private)) return;
      if (const Temporary* c = k_.find_temporary(t.variable); c && c->read_only) return;
      own.push_back(std::move(t));
    };
    for (const Access& a : statement_accesses(insn, variables)) {
      if (insn.role == ReductionRole::Update && a.write)  // reads its accumulator
        add({{a.variable, false, a.index, a.at}, static_cast<int>(i)});
      add({a, static_cast<int>(i)});
    }
    accesses_.push_back(std::move(own));
    for_each_read(k_, insn, [&](const std::string& n) {
      std::vector<int>& all = readers_[n];
      if (all.empty() || all.back() != static_cast<int>(i)) all.push_back(static_cast<int>(i));
    });
  }
  for (const Domain& d : k_.domains)  // of loops, which every group runs
    for (const std::string& p : d.params()) readers_.erase(p);
  for (const CommonTrips& t : plan.common_trips)
    for (const std::string& name : {t.first, t.end}) readers_.erase(name);
}

HardwareConflicts::Axes HardwareConflicts::axes_of(const std::vector<int>& insns) const {
  Axes out;
  for (const int i : insns)
    for (const std::string& n : insn(i).inames)
      if (const auto h = plan_.hardware.find(n); h != plan_.hardware.end())
        out.insert({h->second.group, h->second.axis});
  return out;
}

void HardwareConflicts::in_kernel(const LaunchPlan& launch) {
  axes_.clear();
  for (int axis = 0; axis < kDeviceAxes; ++axis) {
    if (launch.number(true, axis)) axes_.insert({true, axis});
    if (launch.has_items(axis)) axes_.insert({false, axis});
  }
}

/// The iname of the instruction that the axis counts; empty if none.
std::string HardwareConflicts::iname_on(int i, const Axis& axis) const {
  for (const std::string& name : insn(i).inames)
    if (const auto h = plan_.hardware.find(name); h != plan_.hardware.end())
      if (h->second.group == axis.group && h->second.axis == axis.number) return name;
  return "";
}

bool HardwareConflicts::runs_in_first_alone(int i, const Axis& axis) const {
  if (!iname_on(i, axis).empty()) return false;
  const auto [known, fresh] = first_alone_.try_emplace({i, axis}, false);
  if (!fresh) return known->second;  // false while it is being found: for statements in a circle
  const std::vector<StatementAccess>& all = accesses(i);
  const bool shared = std::any_of(all.begin(), all.end(), [&](const StatementAccess& t) {
    const bool per_group = axis.group && plan_.lies_in(t.variable, AddressSpace::Local);
    return t.write && !per_group;
  });
  const bool alone = shared || (axis.group && only_prepares(i, axis));
  return first_alone_[{i, axis}] = alone;
}

/// Whether all that the instruction computes is for others that run only in the first group.
bool HardwareConflicts::only_prepares(int i, const Axis& axis) const {
  const auto combined = [&](const GroupReduction& r) { return r.update == i; };
  if (std::any_of(plan_.reductions.begin(), plan_.reductions.end(), combined)) return false;
  const std::set<std::string> all = writes(insn(i));
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const std::string& name) {
    const auto users = readers_.find(name);
    return users != readers_.end() &&
           std::all_of(users->second.begin(), users->second.end(),
                       [&](int user) { return user == i || runs_in_first_alone(user, axis); });
  });
}

Expr HardwareConflicts::position(int i, const Axis& axis) const {
  if (const std::string name = iname_on(i, axis); !name.empty())
    return index_sub(var(name), plan_.hardware.at(name).first);
  return runs_in_first_alone(i, axis) ? lit(0) : Expr();
}

/// Equal subscripts that determine the iname of every axis, the same for both.
bool HardwareConflicts::own_element(const StatementAccess& x, const StatementAccess& y,
                                    bool groups) {
  if (!equal(x.index, y.index)) return false;
  return std::all_of(axes_.begin(), axes_.end(), [&](const Axis& axis) {
    if (axis.group != groups) return true;
    const std::string n = iname_on(x.insn, axis);
    return !n.empty() && n == iname_on(y.insn, axis) && conflicts_.tells(x.index, {n});
  });
}

std::optional<HardwareConflicts::Pairs> HardwareConflicts::across(
    const StatementAccess& x, const StatementAccess& y, const std::vector<std::string>& same,
    const std::string& carried, bool groups, bool which) {
  if (x.variable != y.variable || (!x.write && !y.write)) return std::nullopt;
  if (commuting_.commute(insn(x.insn), insn(y.insn), x.variable)) return std::nullopt;
  if (own_element(x, y, groups) || plainly_apart(x, y)) return std::nullopt;
  bool anywhere = false;  // one of the two runs in every work-item (group)
  Exprs a, b;
  for (const Axis& axis : axes_) {
    if (axis.group != groups) continue;
    const Expr p = position(x.insn, axis), q = position(y.insn, axis);
    if (p && q)
      a.push_back(p), b.push_back(q);
    else
      anywhere = true;
  }
  if (!anywhere && a.empty()) return std::nullopt;  // there is one work-item (group)
  Conflicts::Values in_one_group;
  for (const Axis& axis : axes_) {
    if (groups || !axis.group) continue;
    const Expr p = position(x.insn, axis), q = position(y.insn, axis);
    if (p && q) in_one_group.emplace_back(p, q);
  }
  Conflicts::Values of_items;
  for (std::size_t i = 0; i < a.size(); ++i) of_items.emplace_back(a[i], b[i]);
  const std::optional<bool> apart =
      conflicts_.plainly_agree(x, y, same, carried, in_one_group, anywhere ? nullptr : &of_items);
  if (apart == true) return std::nullopt;
  if (apart == false && !which && (!groups || trusted_.empty()) &&
      !is_claimed(x, y, groups ? "global" : "local"))
    return Pairs{};
  Map pairs = conflicts_.in_equal(conflicts_.pairs(x, y).all, x, y, same);
  if (!carried.empty()) {
    auto later = conflicts_.in_later(std::move(pairs), x, y, carried);
    if (!later) return std::nullopt;
    pairs = std::move(*later);
  }
  const auto pairs_with_equal = [&](const Exprs& f, const Exprs& g) -> std::optional<Map> {
    const auto at_x = to_map(f, conflicts_.dims(x.insn)), at_y = to_map(g, conflicts_.dims(y.insn));
    if (!at_x || !at_y) return std::nullopt;
    return Map(isl_map_apply_range(at_x->copy(), isl_map_reverse(at_y->copy())));
  };
  for (const auto& [p, q] : in_one_group)
    if (const auto equal = pairs_with_equal({p}, {q}))
      pairs = isl_map_intersect(pairs.take(), equal->copy());
  if (groups) pairs = not_on_trust(x, y, std::move(pairs));
  if (yes(isl_map_is_empty(pairs.get()))) return std::nullopt;
  if (anywhere) return Pairs{std::move(pairs), {}};
  auto equal = pairs_with_equal(a, b);
  if (!equal) return Pairs{std::move(pairs), {}};
  if (yes(isl_map_is_subset(pairs.get(), equal->get()))) return std::nullopt;
  return Pairs{std::move(pairs), std::move(*equal)};
}

Map HardwareConflicts::Pairs::all() const {
  return but ? Map(isl_map_subtract(in.copy(), but.copy())) : in;
}

Map HardwareConflicts::not_on_trust(const StatementAccess& x, const StatementAccess& y,
                                    Map pairs) const {
  for (const auto& [iname, inside] : trusted_) {
    const auto h = plan_.hardware.find(iname);
    if (h == plan_.hardware.end() || !h->second.group) continue;
    if (!insn(x.insn).inames.contains(iname) || !insn(y.insn).inames.contains(iname)) continue;
    std::vector<std::string> outside;
    for (const std::string& n : insn(x.insn).inames)
      if (!plan_.hardware.contains(n) && !inside.contains(n)) outside.push_back(n);
    const Map vouched =
        conflicts_.in_different(conflicts_.in_equal(pairs, x, y, outside), x, y, {iname});
    pairs = isl_map_subtract(pairs.take(), vouched.copy());
  }
  return pairs;
}

std::optional<HardwareConflicts::Pairs> HardwareConflicts::across_groups(
    const StatementAccess& x, const StatementAccess& y, const std::vector<std::string>& same,
    const std::string& carried) {
  if (plan_.lies_in(x.variable, AddressSpace::Local)) return std::nullopt;
  return unless_claimed(x, y, across(x, y, same, carried, true, true), "global");
}

bool HardwareConflicts::meet_across_groups(const StatementAccess& x, const StatementAccess& y,
                                           const std::vector<std::string>& same) {
  return !plan_.lies_in(x.variable, AddressSpace::Local) &&
         unless_claimed(x, y, across(x, y, same, {}, true, false), "global");
}

std::optional<HardwareConflicts::Pairs> HardwareConflicts::across_copies(
    const StatementAccess& write, const StatementAccess& read, bool earlier) {
  const Instruction &w = insn(write.insn), &r = insn(read.insn);
  std::vector<std::string> same;
  for (const std::string& i : w.inames) {
    const auto on = plan_.hardware.find(i);
    const bool group = on != plan_.hardware.end() && on->second.group;
    if (r.inames.count(i) && (group || (earlier && on == plan_.hardware.end()))) same.push_back(i);
  }
  Exprs a, b;
  bool elsewhere = false;  // the read runs in groups that the write does not run in
  for (const Axis& axis : axes_) {
    if (!axis.group) continue;
    const Expr p = position(write.insn, axis), q = position(read.insn, axis);
    if (!p || (p && q && equal(p, q))) continue;  // in all groups; in the same one
    if (q)
      a.push_back(p), b.push_back(q);
    else
      elsewhere = true;
  }
  if (!elsewhere && a.empty()) return std::nullopt;
  if (plainly_apart(write, read)) return std::nullopt;
  Map pairs = conflicts_.in_equal(conflicts_.pairs(write, read).all, write, read, same);
  if (!elsewhere) {
    const auto f = to_map(a, conflicts_.dims(write.insn)),
               g = to_map(b, conflicts_.dims(read.insn));
    if (f && g) {
      Map one = isl_map_apply_range(f->copy(), isl_map_reverse(g->copy()));
      if (yes(isl_map_is_subset(pairs.get(), one.get()))) return std::nullopt;
      return Pairs{std::move(pairs), std::move(one)};
    }
  }
  if (yes(isl_map_is_empty(pairs.get()))) return std::nullopt;
  return Pairs{std::move(pairs), {}};
}

std::optional<HardwareConflicts::Pairs> HardwareConflicts::across_items(
    const StatementAccess& x, const StatementAccess& y, const std::vector<std::string>& same,
    const std::string& carried) {
  return unless_claimed(x, y, across(x, y, same, carried, false, plan_.reasons), "local");
}

namespace {

bool claims_none(const Instruction& a, const Instruction& b, const std::string& scope) {
  return std::any_of(a.no_sync.begin(), a.no_sync.end(), [&](const NoSync& n) {
    return (n.scope == "any" || n.scope == scope) && glob_match(n.id, b.id);
  });
}

}  // namespace

bool HardwareConflicts::is_claimed(const StatementAccess& x, const StatementAccess& y,
                                   const std::string& scope) const {
  const Instruction &a = insn(x.insn), &b = insn(y.insn);
  return claims_none(a, b, scope) || claims_none(b, a, scope);
}

/// `nosync` covers unknown cases, such as indirect subscripts; it is refused where a barrier is
/// known to be needed.
std::optional<HardwareConflicts::Pairs> HardwareConflicts::unless_claimed(
    const StatementAccess& x, const StatementAccess& y, std::optional<Pairs> pairs,
    const std::string& scope) {
  if (!pairs || !is_claimed(x, y, scope)) return pairs;
  const Instruction &a = insn(x.insn), &b = insn(y.insn);
  if (!conflicts_.pairs(x, y).exact) return std::nullopt;
  refuse("needed-barrier", b.at ? b.at : a.at,
         "`{}` and `{}` are said to need no barrier between them, but {}", a.id, b.id,
         describe(x, y, *pairs));
}

std::string HardwareConflicts::describe(const StatementAccess& x, const StatementAccess& y,
                                        const Pairs& pairs) const {
  const auto dims = [&](int i) { return conflicts_.dims(i); };
  const Witness w = witness(pairs.all(), dims(x.insn), dims(y.insn));
  std::map<std::string, std::int64_t> values = w.params;
  values.insert(w.a.begin(), w.a.end());
  return fmt::format("{} {} {}, {} {} it", instance_text(insn(x.insn).id, dims(x.insn), w.a),
                     x.write ? "writes" : "reads", element_text(x, values),
                     instance_text(insn(y.insn).id, dims(y.insn), w.b),
                     y.write ? "writes" : "reads");
}

}  // namespace moonloop
