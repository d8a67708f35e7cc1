#include "core/order/affine_schedule.h"

#include <isl/schedule.h>
#include <isl/schedule_node.h>

#include <algorithm>

#include "core/model/affine.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

using Constraints =
    Owner<isl_schedule_constraints, isl_schedule_constraints_copy, isl_schedule_constraints_free>;
using MultiUnionPwAff =
    Owner<isl_multi_union_pw_aff, isl_multi_union_pw_aff_copy, isl_multi_union_pw_aff_free>;
using UnionPwAff = Owner<isl_union_pw_aff, isl_union_pw_aff_copy, isl_union_pw_aff_free>;

/// isl eliminates a multiplier for each constraint of a dependence, in a time that grows by leaps
/// and that its counter of operations does not see. Beyond these limits there is no schedule.
constexpr int kMostParts = 4, kMostConstraints = 24;
constexpr unsigned long kScheduleOperations = 500'000;
/// Its systems of equations grow with the statements and with the constraints of all dependences:
/// with a product of so much, isl takes half a second; with seven times as much, 15 s.
constexpr std::size_t kMostWork = 8'000;

class TooInvolved {};

/// Adds the number of its constraints to `constraints`.
Map not_too_involved(Map m, std::size_t& constraints) {
  m = isl_map_remove_redundancies(m.take());
  const Set pairs = isl_map_wrap(m.copy());
  const std::vector<BasicSet> parts = parts_of(pairs);
  if (parts.size() > kMostParts) throw TooInvolved();
  for (const BasicSet& part : parts) {
    const int own = count(isl_basic_set_n_constraint(part.get()));
    if (own > kMostConstraints || count(isl_basic_set_dim(part.get(), isl_dim_div)) > 0)
      throw TooInvolved();
    constraints += std::size_t(own);
  }
  return m;
}

class Scheduling {
 public:
  Scheduling(const Kernel& k, const std::string& within) : found_(dependences(k, within)) {
    order_ = std::make_unique<RunOrder>(Nested{found_.kernel, found_.tree});
    for (int s = 0; s < order_->size(); ++s) {
      const std::vector<std::string>& loops = order_->loops(s);
      const auto at = std::find(loops.begin(), loops.end(), within);
      if (within.empty() || at != loops.end()) {
        chosen_.push_back(s);
        if (!within.empty()) outer_.assign(loops.begin(), at);
      }
    }
  }

  AffineSchedule run() {
    UnionSet domain = isl_union_set_empty(isl_space_params_alloc(isl(), 0));
    for (const int s : chosen_) domain = isl_union_set_add_set(domain.take(), instances(s).take());
    UnionMap kept = isl_union_map_empty(isl_space_params_alloc(isl(), 0));
    std::size_t constraints = 0;
    for (const Dependence& d : found_.all) {
      if (!is_chosen(d.from) || !is_chosen(d.to)) continue;
      kept = isl_union_map_add_map(kept.take(), not_too_involved(relation(d), constraints).take());
      if (constraints * chosen_.size() > kMostWork) throw TooInvolved();
    }
    Constraints all = isl_schedule_constraints_on_domain(domain.take());
    all = isl_schedule_constraints_set_validity(all.take(), kept.copy());
    all = isl_schedule_constraints_set_coincidence(all.take(), kept.copy());
    all = isl_schedule_constraints_set_proximity(all.take(), kept.take());
    const Schedule schedule = isl_schedule_constraints_compute_schedule(all.take());
    ScheduleNode root = isl_schedule_get_root(schedule.get());
    std::vector<std::string> statements;
    for (const int s : chosen_) statements.push_back(order_->insn(s).id);
    if (isl_schedule_node_get_type(root.get()) == isl_schedule_node_domain)
      root = isl_schedule_node_child(root.take(), 0);
    return read(root, statements);
  }

 private:
  bool is_chosen(int s) const { return std::binary_search(chosen_.begin(), chosen_.end(), s); }
  static std::string tuple(int s) { return "S" + std::to_string(s); }
  std::vector<std::string> own_dims(int s) const {
    const std::vector<std::string>& all = order_->dims(s);
    return {all.begin() + long(outer_.size()), all.end()};
  }

  /// Over the loops from the chosen one on; those around are parameters.
  Set instances(int s) const {
    Set points = dims_to_params(order_->domain(s).all, outer_);
    return isl_set_set_tuple_name(points.take(), tuple(s).c_str());
  }

  /// In equal iterations of the loops around.
  Map relation(const Dependence& d) const {
    Map m = d.relation;
    m = isl_map_reset_tuple_id(m.take(), isl_dim_in);
    m = isl_map_reset_tuple_id(m.take(), isl_dim_out);
    for (std::size_t i = 0; i < outer_.size(); ++i) m = equate(std::move(m), i, i);
    const auto n = static_cast<unsigned>(outer_.size());
    m = isl_map_project_out(m.take(), isl_dim_out, 0, n);
    const int params = count(isl_map_dim(m.get(), isl_dim_param));
    m = isl_map_move_dims(m.take(), isl_dim_param, static_cast<unsigned>(params), isl_dim_in, 0, n);
    for (std::size_t i = 0; i < outer_.size(); ++i)
      m = isl_map_set_dim_name(m.take(), isl_dim_param, static_cast<unsigned>(params) + unsigned(i),
                               outer_[i].c_str());
    m = isl_map_set_tuple_name(m.take(), isl_dim_in, tuple(d.from).c_str());
    return isl_map_set_tuple_name(m.take(), isl_dim_out, tuple(d.to).c_str());
  }

  AffineSchedule read(ScheduleNode node, const std::vector<std::string>& statements) {
    AffineSchedule out;
    out.statements = statements;
    const int children = count(isl_schedule_node_n_children(node.get()));
    switch (isl_schedule_node_get_type(node.get())) {
      case isl_schedule_node_band:
        out.kind = AffineSchedule::Kind::Band;
        read_band(node, out);
        break;
      case isl_schedule_node_sequence: out.kind = AffineSchedule::Kind::Sequence; break;
      case isl_schedule_node_set: out.kind = AffineSchedule::Kind::Set; break;
      case isl_schedule_node_filter:
        return read(isl_schedule_node_child(node.take(), 0), statements);
      default: return out;
    }
    for (int c = 0; c < children; ++c) {
      const ScheduleNode child = isl_schedule_node_get_child(node.get(), c);
      out.children.push_back(read(child, of_filter(child, statements)));
    }
    return out;
  }

  /// Those of the statements that a filter lets through.
  std::vector<std::string> of_filter(const ScheduleNode& node,
                                     const std::vector<std::string>& statements) const {
    if (isl_schedule_node_get_type(node.get()) != isl_schedule_node_filter) return statements;
    const UnionSet filter = isl_schedule_node_filter_get_filter(node.get());
    std::vector<std::string> out;
    for (const int s : chosen_) {
      const UnionSet here =
          isl_union_set_intersect(filter.copy(), isl_union_set_from_set(instances(s).take()));
      if (!yes(isl_union_set_is_empty(here.get()))) out.push_back(order_->insn(s).id);
    }
    return out;
  }

  void read_band(const ScheduleNode& node, AffineSchedule& out) const {
    out.permutable = yes(isl_schedule_node_band_get_permutable(node.get()));
    const MultiUnionPwAff partial = isl_schedule_node_band_get_partial_schedule(node.get());
    for (int m = 0; m < count(isl_schedule_node_band_n_member(node.get())); ++m) {
      AffineSchedule::Member member;
      member.parallel = yes(isl_schedule_node_band_member_get_coincident(node.get(), m));
      const UnionPwAff values = isl_multi_union_pw_aff_get_union_pw_aff(partial.get(), m);
      for (const int s : chosen_) {
        const std::string& id = order_->insn(s).id;
        if (std::find(out.statements.begin(), out.statements.end(), id) == out.statements.end())
          continue;
        member.values.emplace_back(id, value(values, s));
      }
      out.members.push_back(std::move(member));
    }
  }

  /// The part of `all` on the instances of `s`, over the names of its loops.
  Expr value(const UnionPwAff& all, int s) const {
    const Set points = instances(s);
    Space space = isl_space_from_domain(isl_set_get_space(points.get()));
    space = isl_space_add_dims(space.take(), isl_dim_out, 1);
    PwAff part = isl_union_pw_aff_extract_pw_aff(all.get(), space.take());
    const std::vector<std::string> dims = own_dims(s);
    for (std::size_t i = 0; i < dims.size(); ++i)
      part = isl_pw_aff_set_dim_id(part.take(), isl_dim_in, static_cast<unsigned>(i),
                                   isl_id_alloc(isl(), dims[i].c_str(), nullptr));
    part = isl_pw_aff_reset_tuple_id(part.take(), isl_dim_in);
    return from_affine(part);
  }

  DependenceList found_;
  std::unique_ptr<RunOrder> order_;
  std::vector<int> chosen_;         // statements, ascending
  std::vector<std::string> outer_;  // loops around the chosen one
};

}  // namespace

const char* to_string(AffineSchedule::Kind kind) {
  switch (kind) {
    case AffineSchedule::Kind::Band: return "band";
    case AffineSchedule::Kind::Sequence: return "sequence";
    case AffineSchedule::Kind::Set: return "set";
    case AffineSchedule::Kind::Leaf: return "leaf";
  }
  throw InternalError("unknown kind of schedule");
}

AffineSchedule affine_schedule(const Kernel& k, const std::string& within) {
  if (!within.empty()) require_iname(k, within);
  try {
    Scheduling scheduling(k, within);
    const IslBudget budget(kScheduleOperations);
    return scheduling.run();
  } catch (const IslQuota&) {
  } catch (const TooInvolved&) {}
  refuse_budget(k.at, "isl's schedule keeps the order of instances");
}

}  // namespace moonloop
