#include "codegen/plan/idle_groups.h"

#include <algorithm>

#include "core/model/affine.h"
#include "core/model/domain.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

constexpr unsigned long kIdleOperations = 100'000;  // of isl, for one axis
constexpr int kMostPieces = 2;                      // of the first and of the last group

/// Groups from `first` to before `end`, counted from where the hardware does.
struct BusyGroups {
  Expr first, end;
};

/// What some iteration of the host's loops needs of an axis.
class BusySpan {
 public:
  BusySpan(const Plan& plan, const std::vector<std::string>& loops)
      : plan_(plan), k_(plan.kernel), loops_(loops) {}

  std::optional<BusyGroups> of(const std::vector<std::string>& inames) const {
    std::optional<PwAff> first, end;
    for (const std::string& n : inames) {
      const auto own = ends_of(n);
      if (!own) return std::nullopt;
      const auto& [low, high] = *own;
      first = first ? PwAff(isl_pw_aff_min(first->take(), low.copy())) : low;
      end = end ? PwAff(isl_pw_aff_max(end->take(), high.copy())) : high;
    }
    const Set all = around();
    const auto plain = [&](PwAff& a) {
      a = isl_pw_aff_coalesce(isl_pw_aff_gist_params(a.take(), all.copy()));
      return count(isl_pw_aff_n_piece(a.get())) <= kMostPieces;
    };
    if (!plain(*first) || !plain(*end)) return std::nullopt;
    return BusyGroups{from_affine(*first), from_affine(*end)};
  }

  /// Whether the condition, over parameters and the host's loops, holds in all of their iterations.
  bool always(const Expr& condition) const {
    const auto holds = to_condition(condition, {});
    return holds && yes(isl_set_is_subset(around().get(), all_to_params(*holds).get()));
  }

 private:
  /// Iterations of the host's loops, as parameters.
  Set around() const {
    const auto [all, known] = without_unknown(k_, domain_of(k_, loops_), plan_.known);
    return isl_set_intersect(all_to_params(all).take(), context_of(k_).take());
  }

  /// Of one iname: where it begins, and the value behind its last one.
  std::optional<std::pair<PwAff, PwAff>> ends_of(const std::string& iname) const {
    std::vector<std::string> all = loops_;
    all.push_back(iname);
    const auto [s, known] = without_unknown(k_, domain_of(k_, all), plan_.known);
    if (!known) return std::nullopt;
    const Set values = dims_to_params(s, loops_);
    const Expr& from = plan_.hardware.at(iname).first;
    const auto counted = [&](isl_pw_aff* end, std::int64_t more) {
      const Expr value = substitute(from_affine(PwAff(end)), plan_.known);
      return to_affine(index_add({index_sub(value, from), lit(more)}), {});
    };
    const auto low = counted(isl_set_dim_min(values.copy(), 0), 0);
    const auto high = counted(isl_set_dim_max(values.copy(), 0), 1);
    if (!low || !high) return std::nullopt;
    return std::pair(*low, *high);
  }

  const Plan& plan_;
  const Kernel& k_;
  const std::vector<std::string>& loops_;
};

/// Whether the bounds of the loop mention one of the host's loops.
bool follows(const Kernel& k, const std::string& iname, const std::vector<std::string>& loops) {
  const Domain* home = k.home_of(iname);
  const std::vector<std::string> dims = dim_names(home->set), params = home->params();
  return std::any_of(loops.begin(), loops.end(), [&](const std::string& n) {
    return std::find(dims.begin(), dims.end(), n) != dims.end() ||
           std::find(params.begin(), params.end(), n) != params.end();
  });
}

}  // namespace

void leave_out_idle_groups(const Plan& plan, LaunchPlan& launch,
                           const std::array<bool, 3>& spread) {
  if (launch.host_loops.empty()) return;
  for (std::size_t axis = 0; axis < spread.size(); ++axis) {
    Expr& number = launch.groups.at(axis);
    if (!number || !spread.at(axis)) continue;
    std::vector<std::string> inames;
    for (const std::string& n : launch.inames) {
      const HardwareIname& h = plan.hardware.at(n);
      if (h.group && h.axis == static_cast<int>(axis)) inames.push_back(n);
    }
    if (!std::all_of(inames.begin(), inames.end(), [&](const std::string& n) {
          return follows(plan.kernel, n, launch.host_loops);
        }))
      continue;
    try {
      const IslBudget budget(kIdleOperations);
      const BusySpan busy(plan, launch.host_loops);
      const std::optional<BusyGroups> span = busy.of(inames);
      // Where an iteration has no group at all, what its bounds say may be anything.
      if (!span || !busy.always(conjunction({Expr(Compare{CompareOp::Le, lit(0), span->first}),
                                             Expr(Compare{CompareOp::Le, span->end, number})})))
        continue;
      number = index_sub(span->end, span->first);
      launch.skipped.at(axis) = span->first;
    } catch (const IslQuota&) {}  // too hard to tell: all groups run
  }
}

}  // namespace moonloop
