#pragma once
#include <string>
#include <vector>

#include "core/order/commuting.h"
#include "core/order/conflicts.h"
#include "core/sets/budget.h"

namespace moonloop {

/// The dependences between members of a team, work-items or lanes.
class TeamConflicts {
 public:
  /// Of the statements of `k`, which has no rules and no reductions; `k` has to outlive this.
  explicit TeamConflicts(const Kernel& k) : k_(k), conflicts_(k), commuting_(k) {}

  /// Whether members with other values of the inames `team` may touch one element, one of them to
  /// write, in one iteration of the loops `outer`, so that it matters which of them does first;
  /// also where that takes too many operations to find.
  bool cross(const StatementAccess& x, const StatementAccess& y,
             const std::vector<std::string>& team, const std::vector<std::string>& outer);

 private:
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }

  const Kernel& k_;
  Conflicts conflicts_;
  CommutingUpdates commuting_;
  QuestionBudget questions_{kQuestionOperations, kPhaseOperations / 4};
};

}  // namespace moonloop
