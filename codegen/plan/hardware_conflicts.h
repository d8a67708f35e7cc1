#pragma once
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/plan.h"
#include "core/order/commuting.h"
#include "core/order/conflicts.h"

/// Which work-items and groups conflict in memory: this decides on barriers and on the cuts between
/// kernels.
namespace moonloop {

class HardwareConflicts {
 public:
  /// `plan` has its `hardware` and `spaces`.
  explicit HardwareConflicts(const Plan& plan);

  /// The accesses of the instruction to memory that its group (`Local`) or all groups share.
  const std::vector<StatementAccess>& accesses(int insn) const {
    return accesses_[static_cast<std::size_t>(insn)];
  }
  /// An axis of the hardware: of groups or of work-items.
  struct Axis {
    bool group;
    int number;
    bool operator<(const Axis& o) const {
      return std::pair(group, number) < std::pair(o.group, o.number);
    }
    bool operator==(const Axis& o) const { return group == o.group && number == o.number; }
  };
  using Axes = std::set<Axis>;
  /// The axes that the instructions have inames for.
  Axes axes_of(const std::vector<int>& insns) const;
  /// From here on, `axes` are those of the kernel in question.
  void in_kernel_with(Axes axes) { axes_ = std::move(axes); }
  void in_kernel(const LaunchPlan& launch);

  /// Instances of two accesses: those `in` the one relation that are not in the other, if there is
  /// one. That there are some is known; the difference takes much longer. Null where nobody asks
  /// which they are.
  struct Pairs {
    Map in, but;

    Map all() const;
  };
  /// The instances of `x` and `y` that, in iterations of the loops `same` that are equal
  /// and, with `carried`, in a later iteration of that loop for `y`, touch one element, at least
  /// one of them to write, in two different groups.
  std::optional<Pairs> across_groups(const StatementAccess& x, const StatementAccess& y,
                                     const std::vector<std::string>& same,
                                     const std::string& carried = {});
  /// Whether there are such instances.
  bool meet_across_groups(const StatementAccess& x, const StatementAccess& y,
                          const std::vector<std::string>& same);
  /// The same in one group, but in two different work-items.
  std::optional<Pairs> across_items(const StatementAccess& x, const StatementAccess& y,
                                    const std::vector<std::string>& same,
                                    const std::string& carried = {});
  /// The instances of `write` and `read` that touch one element of local memory, of which each
  /// group has its own, and where the read's group does not run that of the write. `earlier`: the
  /// write is before the read, so that iterations of loops around both are the same ones; else
  /// those of groups are.
  std::optional<Pairs> across_copies(const StatementAccess& write, const StatementAccess& read,
                                     bool earlier);
  /// `update[i=3] writes a[4], shift[i=4] reads it`, for accesses and instances that conflict.
  std::string describe(const StatementAccess& x, const StatementAccess& y,
                       const Pairs& pairs) const;

  /// Along an axis that the instruction has no iname for, it runs in the first work-item or group
  /// when it writes memory that those share, or, along an axis of groups, computes values used only
  /// there; else in all of them.
  std::string iname_on(int insn, const Axis& axis) const;
  bool runs_in_first_alone(int insn, const Axis& axis) const;

 private:
  std::optional<Pairs> unless_claimed(const StatementAccess& x, const StatementAccess& y,
                                      std::optional<Pairs> pairs, const std::string& scope);
  /// `which`: somebody asks for the instances.
  std::optional<Pairs> across(const StatementAccess& x, const StatementAccess& y,
                              const std::vector<std::string>& same, const std::string& carried,
                              bool groups, bool which);
  /// Whether some statement says that it needs no synchronization with the other one.
  bool is_claimed(const StatementAccess& x, const StatementAccess& y,
                  const std::string& scope) const;
  /// The iname's number on the axis, 0 where only the first runs it, null where all do.
  Expr position(int insn, const Axis& axis) const;
  /// Without those in two groups for which somebody vouches.
  Map not_on_trust(const StatementAccess& x, const StatementAccess& y, Map pairs) const;
  bool only_prepares(int insn, const Axis& axis) const;
  bool own_element(const StatementAccess& x, const StatementAccess& y, bool groups);
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  const Plan& plan_;
  const Kernel& k_;
  Conflicts conflicts_;
  CommutingUpdates commuting_;
  std::map<std::string, std::set<std::string>> trusted_;  // see trusted_loops()
  std::vector<std::vector<StatementAccess>> accesses_;
  std::map<std::string, std::vector<int>> readers_;  // by variable
  mutable std::map<std::pair<int, Axis>, bool> first_alone_;
  Axes axes_;  // of the kernel in question
};

}  // namespace moonloop
