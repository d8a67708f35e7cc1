#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/kernel.h"

namespace moonloop {

/// What expressions say of some instances, without loops that only divide up another one.
struct Joined {
  std::vector<std::string> inames;
  Set instances;
  Exprs exprs;
};

/// Puts the pieces of chunked loops together, for questions that hang on the values of expressions
/// alone: `(0 if o == 0 else n // 2 + n % 2) + i` is one new iname wherever it stands when nothing
/// else names `i`. Where nothing else names `o` either, and the instances of the pieces are those
/// of one loop cut at the beginnings of the pieces, the instances become that loop's. isl would
/// take a case for each combination of pieces in each condition otherwise.
class LoopJoiner {
 public:
  explicit LoopJoiner(const Kernel& k) : k_(k) {}

  /// The values that `exprs` take over all instances of the loops `inames` are those of the
  /// result's over its instances. Of integers: inames and integer arguments. Nothing where no loops
  /// are joined, or where that takes too many operations. Cost: isl for each piece and bound, once
  /// for the same loops and choices.
  std::optional<Joined> join(const std::vector<std::string>& inames, const Exprs& exprs);

 private:
  struct State;
  std::optional<Joined> joined(const std::vector<std::string>& inames, Exprs exprs,
                               std::string& key);

  const Kernel& k_;
  std::unordered_map<std::string, std::shared_ptr<const State>> known_;  // null: none
};

}  // namespace moonloop
