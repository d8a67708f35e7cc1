#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/order/order_reference.h"
#include "core/rewrite/rule_rewrite.h"
#include "core/sets/linear_proof.h"

/// Which assignment gives the value that a use reads, and whether its right side could be evaluated
/// at the use instead.
namespace moonloop {

/// An assignment `v[i + c, ...] = rhs` whose subscripts are different inames plus constants.
struct Definition {
  int insn = 0;                      // index into the kernel's instructions
  std::vector<std::string> inames;   // by axis
  std::vector<std::int64_t> shifts;  // by axis: the constants
};

/// The assignment `insn` as a definition of `name`; fails `bad-definition` when it is not one.
/// `mentions`: those of `name` in the kernel.
Definition definition_of(const Kernel& k, int insn, const std::string& name,
                         const Mentions& mentions);

/// Whether `insn` writes the variable `name`.
bool writes_to(const Instruction& insn, const std::string& name);

/// Questions about one variable in the present order of one kernel.
class Reaching {
 public:
  Reaching(const Kernel& k, std::string name);

  /// Why the uses of the variable in instruction `use` (an index) cannot be served by evaluating
  /// `d` in their place; nothing when they can. Looks at all uses in the instruction, through
  /// rules.
  std::optional<Diagnostic> obstacle(const Definition& d, int use) const;

  /// Instructions that write the variable, by index, ascending.
  const std::vector<int>& writers() const { return writers_; }
  /// The same: those that run before `use` first, the latest of them ahead, then the others.
  std::vector<int> writers(int use) const;

 private:
  struct Use;
  ApproximateSet instances(int s, const Access& a) const;
  /// Whether the use follows the definition in one iteration of the same loops, reads the element
  /// that was written there, and nothing between the two writes what either reads: then there is no
  /// obstacle. False where more has to be checked. Cost: no query of isl.
  bool follows_plainly(const Definition& d, const Access& use, int s) const;
  std::optional<Diagnostic> one(const Definition& d, const Use& u) const;
  std::optional<Diagnostic> unserved(const Definition& d, const Use& u) const;
  std::optional<Diagnostic> overwritten(const Definition& d, const Use& u) const;
  std::optional<Diagnostic> stale(const Definition& d, const Use& u) const;
  bool stays_plainly(const std::vector<LinearRows>& served, int use, int part, const Access& read,
                     const AccessAt& at) const;
  bool conditions_hold(const Definition& d, const Use& u) const;
  bool may_run_between(int w, int from, int to) const;
  Expr at_use(const Definition& d, const Use& u, const Expr& e) const;
  Map pick(const Map& served, int def, int part) const;
  /// The statements of an instruction: the parts of its reductions, then the one with its id.
  int first_part(int insn) const { return insn == 0 ? 0 : ends_[std::size_t(insn) - 1]; }
  int last_part(int insn) const { return ends_[std::size_t(insn)] - 1; }

  const Kernel& k_;
  std::string name_;
  std::vector<int> writers_;
  std::shared_ptr<const Reference> order_;
  const Reference& r_;
  std::vector<int> ends_;  // by instruction: after the last of its statements
};

}  // namespace moonloop
