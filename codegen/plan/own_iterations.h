#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/order/conflicts.h"
#include "core/order/order_reference.h"
#include "core/order/tree.h"

namespace moonloop {

/// Where a temporary that parallel iterations use has to live, with sequential loops around them.
/// Two reasons make the loop parallel: each iteration has a copy of its own, which may live in it;
/// or only one iteration uses the temporary, which then may keep a value until the next run of the
/// loop, and lives outside.
class OwnIterations {
 public:
  /// `tree` is that of `k`, whose reductions are realized; both have to outlive this.
  OwnIterations(const Kernel& k, const LoopTree& tree) : k_(k), tree_(tree) {}

  /// Whether the iterations of `loop`, within equal ones of the loops `outer`, may share
  /// `temporary`, which the instructions `insns` use. Only for loops that are proved or claimed to
  /// be parallel; where that takes long to find out, the answer is as if each has its own. Cost:
  /// the order of the kernel, once; isl for each two accesses.
  bool may_share(const std::string& temporary, const std::vector<int>& insns,
                 const std::string& loop, const std::vector<std::string>& outer);

  /// Whether no two iterations of `loop`, within equal ones of `outer`, meet in an element: `t[j]`
  /// is as good as a copy in each iteration of `j`, `t[j % 4]` is not. False where that takes long
  /// to find out. Cost: none where one subscript of all accesses determines the iteration.
  bool apart(const std::string& temporary, const std::vector<int>& insns, const std::string& loop,
             const std::vector<std::string>& outer);

 private:
  bool conflict(const std::vector<StatementAccess>& accesses, const std::string& loop,
                const std::vector<std::string>& outer);
  std::vector<StatementAccess> accesses(const std::string& temporary,
                                        const std::vector<int>& insns);

  const Kernel& k_;
  const LoopTree& tree_;
  std::optional<Variables> variables_;
  std::optional<Reference> reference_;
  std::optional<Conflicts> conflicts_;
};

}  // namespace moonloop
