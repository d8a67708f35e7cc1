#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/order/order.h"

/// Which instances of two statements touch one element, for all callers: legality for its
/// reference, code generation for groups, work-items and the runs of work-items of a plan. All of
/// them see affine subscripts exactly, also next to others, and all of them honour the kernel's
/// claims.
namespace moonloop {

/// An access of a statement to one variable.
struct StatementAccess : Access {
  int insn = -1;  // its place in the kernel
};

class Conflicts {
 public:
  /// Of the statements of `k`, which has no rules and no reductions; `k` has to outlive this.
  explicit Conflicts(const Kernel& k);

  /// The inames of a statement: the dimensions of its instances.
  const std::vector<std::string>& dims(int insn) const { return dims_[std::size_t(insn)]; }

  /// { x's instances -> y's that touch the element of one of x's }, of all iterations.
  ApproximateMap pairs(const StatementAccess& x, const StatementAccess& y);
  /// Those of them in equal iterations of each of `loops` that both statements have.
  Map in_equal(Map pairs, const StatementAccess& x, const StatementAccess& y,
               const std::vector<std::string>& loops) const;
  /// Those with y in a later iteration of `loop`; nothing where one of the two is not in it.
  std::optional<Map> in_later(Map pairs, const StatementAccess& x, const StatementAccess& y,
                              const std::string& loop) const;
  /// Those in which the inames `names`, which both have, do not all agree: in two iterations of
  /// parallel loops.
  Map in_different(Map pairs, const StatementAccess& x, const StatementAccess& y,
                   const std::vector<std::string>& names) const;

  /// Values that two instances have.
  using Values = std::vector<std::pair<Expr, Expr>>;
  /// Whether linear constraints show without isl that all of the pairs in equal iterations of
  /// `same` and a later one of `carried`, where that is not empty, in which both values of each of
  /// `equal` agree, agree in those of `also` as well; null: that there are no such pairs. Certain,
  /// or nothing.
  std::optional<bool> plainly_agree(const StatementAccess& x, const StatementAccess& y,
                                    const std::vector<std::string>& same,
                                    const std::string& carried, const Values& equal,
                                    const Values* also);

  /// Whether elements with the subscripts `index` are equal only where the inames `names` are: each
  /// of these is a subscript, or a digit of one, as of `16*i_outer + i_inner`. Without isl.
  bool tells(const Exprs& index, const std::vector<std::string>& names);

 private:
  const ApproximateSet& instances(int insn);
  /// Those of the pairs of one statement that are left once the scalars in its subscripts that its
  /// instances find with one value are taken for that: in equal iterations of the loops that it
  /// has with the statements that write them.
  Map with_known_scalars(const StatementAccess& x, const StatementAccess& y, Map pairs);
  const std::vector<int>& writers(const std::string& scalar);
  /// The place of the iname among `dims(insn)`, or -1.
  int place(int insn, const std::string& iname) const;

  const Kernel& k_;
  Variables variables_;
  std::set<std::string> set_once_;  // scalars that bound loops and have one value for all of them
  std::vector<std::vector<std::string>> dims_;
  std::vector<ApproximateSet> instances_;                                     // null until needed
  std::optional<std::unordered_map<std::string, std::vector<int>>> writers_;  // of scalars
  std::unordered_map<const void*, std::pair<Expr, std::vector<std::string>>> digits_;  // by address
};

/// The instances of an instruction of `k` over `dims`, affine predicates included; see
/// RunOrder::domain. Computed values `but` stay parameters: they are the same for all instances.
ApproximateSet instances_of(const Kernel& k, const Instruction& insn,
                            const std::vector<std::string>& dims,
                            const std::set<std::string>& but = {});

/// Whether some subscript is one number here and another one there.
bool plainly_apart(const Exprs& a, const Exprs& b);
/// The same of two accesses, or whether they are of different fields of a record.
bool plainly_apart(const Access& a, const Access& b);

}  // namespace moonloop
