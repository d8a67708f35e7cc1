#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/ast.h"
#include "codegen/plan/domains.h"
#include "core/model/joined_loops.h"

namespace moonloop {

/// Points of loops in terms of the loops that chunk_iname cut. A bound that depends on such a loop
/// is one case for each of its pieces in terms of the number of these, and all combinations of
/// cases for pieces of pieces, but one bound in terms of the value `start of the piece + i`.
class PieceValues {
 public:
  struct Value {
    std::string name;
    Expr value;                    // of inames
    std::set<std::string> inames;  // in it, and around what computes other names in it
    Set range, pieces;             // as LoopJoiner::Value
    bool from_data = false;        // computed in the kernel: other work-items have others
    bool is_known(const std::vector<std::string>& loops) const;
    bool is_known_from(const std::vector<std::string>& loops) const;
    /// `context` with its range. Loops may run more iterations than the pieces have; there nothing
    /// is known of it.
    Set known_in(const Set& context) const;
  };

  /// Both have to outlive this.
  PieceValues(const Kernel& k, Domains& domains);

  /// As Domains::of(); parameters may be names of values. Cost: as LoopJoiner::in_values(), only
  /// for kernels with chunked loops.
  const Set& of(const std::vector<std::string>& loops);

  /// Without the values, existentially, that are unknown inside of `loops`.
  Set without_unknown(Set s, const std::vector<std::string>& loops) const;
  /// Those that the last of `loops` completes, in an order in which each is made of earlier ones.
  std::vector<const Value*> completed_by(const std::vector<std::string>& loops) const;
  /// Puts values in the place of names in bounds and guards, in which all inames are known.
  void put_in(Block& block, const std::vector<std::string>& loops) const;

 private:
  void add_loops_of(const std::string& scalar, const std::vector<std::string>& loops,
                    std::set<std::string>& out) const;

  const Kernel& k_;
  Domains& domains_;
  LoopJoiner joiner_;
  Exprs sums_;  // all that may be such values
  std::vector<Value> values_;
  std::map<std::vector<std::string>, Set> made_;
};

}  // namespace moonloop
