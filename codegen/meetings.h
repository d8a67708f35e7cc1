#pragma once
#include <set>
#include <string>
#include <vector>

#include "codegen/domains.h"
#include "codegen/plan.h"
#include "core/reference.h"

/// Which work-items and groups meet in memory: the question behind barriers and behind the cuts
/// between kernels.
namespace moonloop {

/// An access to memory that several work-items see.
struct Touch {
  int insn = -1;
  std::string variable;
  bool write = false, atomic = false;
  Exprs index;
};

class Meetings {
 public:
  /// `plan` has its `hardware` and `spaces`.
  explicit Meetings(const Plan& plan);

  /// What the instruction does to memory that its group (`Local`) or all groups share.
  const std::vector<Touch>& touches(int insn) const {
    return touches_[static_cast<std::size_t>(insn)];
  }
  /// The instances of `x` and `y` that, in iterations of the loops `same` that are equal
  /// and, with `carried`, in a later iteration of that loop for `y`, touch one element, at least
  /// one of them to write, in two different groups.
  std::optional<Map> across_groups(const Touch& x, const Touch& y,
                                   const std::vector<std::string>& same,
                                   const std::string& carried = {});
  /// The same in one group, but in two different work-items.
  std::optional<Map> across_items(const Touch& x, const Touch& y,
                                  const std::vector<std::string>& same,
                                  const std::string& carried = {});
  /// `update[i=3] writes a[4], shift[i=4] reads it`, for accesses and instances that meet.
  std::string describe(const Touch& x, const Touch& y, const Map& pairs) const;

  /// An axis of the hardware: of groups or of work-items.
  struct Axis {
    bool group;
    int number;
    bool operator<(const Axis& o) const {
      return std::pair(group, number) < std::pair(o.group, o.number);
    }
  };
  /// Along an axis that the instruction has no iname for, it runs in the first work-item or group
  /// when it writes memory that those share, else in all of them.
  std::string iname_on(int insn, const Axis& axis) const;
  bool runs_in_first_alone(int insn, const Axis& axis) const;

 private:
  std::optional<Map> unless_claimed(const Touch& x, const Touch& y, std::optional<Map> pairs,
                                    const std::string& scope);
  std::optional<Map> meet(const Touch& x, const Touch& y, const std::vector<std::string>& same,
                          const std::string& carried, bool groups);
  std::set<Axis> axes_of(int insn) const;
  /// The iname's number on the axis, 0 for what runs in the first alone, null for what runs in all.
  Expr position(int insn, const Axis& axis) const;
  bool own_element(const Touch& x, const Touch& y, bool groups) const;
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  const Plan& plan_;
  const Kernel& k_;
  Domains domains_;
  std::vector<std::vector<Touch>> touches_;
  std::set<Axis> axes_;  // in use anywhere
};

}  // namespace moonloop
