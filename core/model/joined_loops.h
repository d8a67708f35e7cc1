#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/kernel.h"
#include "core/sets/budget.h"

namespace moonloop {

/// Expressions at some instances, without loops that only divide up another one.
struct Joined {
  std::vector<std::string> inames;
  Set instances;
  Exprs exprs;
};

/// Joins the pieces of chunked loops, for queries that depend only on the values of expressions:
/// `(0 if o == 0 else n // 2 + n % 2) + i` is one new iname wherever it occurs when nothing else
/// names `i`. Where nothing else names `o` either, and the instances of the pieces are those of one
/// loop cut at the beginnings of the pieces, the instances become that loop's. Otherwise isl would
/// need a case for each combination of pieces in each condition.
class LoopJoiner {
 public:
  explicit LoopJoiner(const Kernel& k) : k_(k) {}

  /// The values that `exprs` take over all instances of the loops `inames` are those of the
  /// result's over its instances. For integers: inames and integer arguments. Nothing where no
  /// loops are joined, or where that takes too many operations. Cost: isl for each piece and bound,
  /// once for the same loops and choices.
  std::optional<Joined> join(const std::vector<std::string>& inames, const Exprs& exprs);

  /// Where `value` of some inames is a value of fewer joined ones: that value, and for each of
  /// these the inames that it stands for, outer to inner. Equal values of a joined iname mean equal
  /// inames, and the order of its values is their lexicographic order. Nothing where that is not
  /// known.
  struct Numbers {
    Expr value;
    std::map<std::string, std::vector<std::string>> inames;
  };
  std::optional<Numbers> numbers(const Expr& value);

  /// A loop that was chunked, in terms of its pieces: `name` is `start + inner`. `range`: its
  /// values as points of that parameter, which it has in the points of `pieces`, over the inames
  /// as parameters. `iterations`: how many it has. `start` is a choice by the
  /// iname that numbers the pieces from 0 on; all of these may be of other such names.
  struct Value {
    std::string name;
    Expr start;
    std::string inner;
    Set range;
    Set pieces;
    Expr iterations;
  };
  struct InValues {
    Set instances;  // over the loops, with the names of values as parameters
    std::vector<Value> values;
  };
  /// The instances of the loops `inames` are the points of the result's where each name has its
  /// value. For the pieces of a triangle, `j <= i'` alone replaces one case for each piece in terms
  /// of the pieces' own inames. The values are sums of choices and inames in `exprs`. Nothing where
  /// there are none, or that is not known.
  std::optional<InValues> in_values(const std::vector<std::string>& inames, const Exprs& exprs);

 private:
  struct State;
  struct Part;
  struct Named;
  std::optional<Joined> join_named(const std::vector<std::string>& inames, Exprs exprs);
  std::vector<Part> parts(std::vector<std::string> inames, const Exprs& exprs);
  std::optional<std::pair<Value, Set>> name_value(std::vector<Part>& all, Exprs& exprs,
                                                  const std::vector<std::string>& known);
  std::shared_ptr<const State> first_state(const std::vector<std::string>& inames, Exprs& exprs,
                                           std::string& key);
  std::shared_ptr<const State> join_all(const std::vector<std::string>& inames, Exprs& exprs,
                                        bool in_order, std::string& key);

  using StatePtr = std::shared_ptr<const State>;

  const Kernel& k_;
  /// Of domains, by their places and choices, and of these without the pieces of a cut: for loops
  /// around one another they are the same ones.
  std::map<std::string, StatePtr> homes_;
  std::map<std::pair<StatePtr, std::string>, StatePtr> without_;        // null: none
  QuestionBudget others_{kPhaseOperations / 20, kPhaseOperations / 5};  // domains inside of a home
  QuestionBudget in_values_{kPhaseOperations / 2, kPhaseOperations / 2};  // of in_values()
  std::unordered_map<std::string, std::shared_ptr<const State>> known_;   // null: none
  std::unordered_map<std::string, std::shared_ptr<const Named>> named_;   // null: none
};

}  // namespace moonloop
