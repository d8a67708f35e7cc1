#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "core/model/kernel.h"

/// Which atomic updates may run in any order. Atomicity does not imply it: `a = 2*a` and
/// `a = a + 1` leave another value when exchanged. Used by legality and by devices.
///
/// Updates `a = a op e` of one operation commute where `a` occurs once, neither `e` nor a subscript
/// reads `a`, and the type of `a` holds what is computed: sums (with subtraction), products (with
/// real division), `min`, `max`, `and`, `or`, `&`, `|`, `^`, and tuples or records of which the
/// larger one stays, where all parts are compared in turn, such as a largest value with its index.
/// Rounding is ignored, as in reductions. An update that does the same to `a` in all instances
/// commutes with itself, such as `a = 3*a - 1`; so does a first write (`atomic=init`) that stores
/// the same in all instances. Updates of two fields of a record are independent.
///
/// Unproved updates can be claimed: where a claim vouches for a variable (`assume_commuting`), all
/// atomic updates of it commute, also those that compute another operation or use what they fetch.
namespace moonloop {

/// Variables whose atomic updates may run in any order by a claim. Such a claim is of
/// Claim::Kind::Unsafe, which takes an order on trust, and names variables where others name
/// inames.
std::set<std::string> claimed_commuting(const Kernel& k);
/// Where a claim of that kind names `from`, `k` makes it of `to` as well: an iname that takes over
/// its iterations, a copy or a part that takes over its elements.
void claim_also(Kernel& k, Claim::Kind kind, const std::string& from, const std::string& to);

class CommutingUpdates {
 public:
  /// `k` has no rules and no reductions, and has to outlive this. Types are inferred when needed.
  /// The claims are those of `k`, or of another kernel that it is the reference of.
  explicit CommutingUpdates(const Kernel& k) : CommutingUpdates(k, k) {}
  CommutingUpdates(const Kernel& k, const Kernel& claims)
      : k_(k), claimed_(claimed_commuting(claims)) {}

  /// Whether the statements `a` and `b` of the kernel, which may be one, are both atomic and can be
  /// exchanged in all their effects on `variable`.
  bool commute(const Instruction& a, const Instruction& b, const std::string& variable);
  /// The same, and both do the same to it. This is transitive: statements alike one are alike.
  bool alike(const Instruction& a, const Instruction& b, const std::string& variable);

  /// Whether the instances of `insn`, run one after the other, leave the same in `variable` in each
  /// order.
  bool in_any_order(const Instruction& insn, const std::string& variable) {
    return update(insn, variable).has_value();
  }
  /// What `insn` does to `variable`, where that is `a op e` with one operation: `sum`, `product`,
  /// `min`, `max`, `chosen min`, `chosen max`, `and`, `or`, `&`, `|`, `^`; else empty. Claims do
  /// not count.
  std::string operation_of(const Instruction& insn, const std::string& variable);

 private:
  /// The effect of a statement on a variable.
  struct Update {
    std::string operation;  // equal for those that commute; empty: leaves it as it is
    std::string field;      // of the record, as `.f.g`; empty: all of it
  };
  /// `insn` assigns `values[at]` to `lhs[at]`, of type `type`.
  struct Step {
    const Instruction& insn;
    const Exprs& values;
    std::size_t at;
    Type type;
    const std::string& variable;
    const Expr& place() const { return insn.lhs[at]; }
  };
  /// Both store the same in all instances, whatever was there.
  bool store_alike(const Instruction& a, const Instruction& b, const std::string& variable);
  const std::optional<Update>& update(const Instruction& insn, const std::string& variable);
  std::optional<Update> find(const Instruction& insn, const std::string& variable);
  std::string operation(const Step& s, const Expr& value);
  std::string chain(const Step& s, const Expr& value);
  std::string choice(const Step& s, const Expr& value);
  /// A part of a tuple: its possible new value, and its place.
  struct Candidate {
    std::string name;
    Expr value, place;
  };
  std::string ordered(const Instruction& insn, const Exprs& values);
  std::string lexicographic(const Expr& cond, const std::vector<Candidate>& parts) const;
  bool stays_in(const Type& t, const Expr& place, const Expr& e, bool exact = false);
  Type type(const Expr& e, const std::optional<Type>& wanted = {});

  const Kernel& k_;
  std::set<std::string> claimed_;
  std::optional<Kernel> typed_;
  std::unordered_map<const Instruction*, std::map<std::string, std::optional<Update>>> known_;
};

}  // namespace moonloop
