#pragma once
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/ast.h"
#include "codegen/plan/domains.h"
#include "codegen/plan/plan.h"

namespace moonloop {

/// Scalars that bounds of loops need and that lie in arrays, since each work-item or lane has a
/// copy
/// (`Plan::expansions`): where bounds and guards can ask for which.
class BoundCopies {
 public:
  /// Both have to stay.
  BoundCopies(const Plan& plan, const Domains& domains);

  /// Those whose copies loops tell apart that are not among `loops`.
  std::set<std::string> unreadable(const std::vector<std::string>& loops) const;

  /// Lets bounds and guards in `block`, which was made of `node`, read the copies that statements
  /// of the node have.
  void put_in(Block& block, const PlanNode& node) const;

 private:
  Expr of(const std::string& temporary, const PlanNode& node) const;

  const Plan& plan_;
  std::vector<std::string> copied_;
};

}  // namespace moonloop
