#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/joined_loops.h"

/// All accesses of a kernel with the instances that make them: used by shape inference and the
/// bounds check. Equal points share one set, so that isl works once for each.
namespace moonloop {

/// One use of a variable.
struct Use {
  const Instruction* insn = nullptr;
  const Expr* expr = nullptr;  // the Var or Load; lives as long as the kernel
  const std::string* name = nullptr;
  const Exprs* index = nullptr;  // of a Load
  bool linear = false;
  bool write = false;
  int point = -1;      // for ProgramPoints
  bool whole = false;  // by something external, which may touch any element
};

/// The arrays whose subscripts are in bounds according to a claim.
std::set<std::string> claimed_in_bounds(const Kernel& k);

class ProgramPoints {
 public:
  /// `k` without rules. Must outlive this.
  explicit ProgramPoints(const Kernel& k) : k_(k), loops_(k) {}

  /// The point of an expression: inames of the instances that evaluate it, and conditions.
  struct Frame {
    std::vector<std::string> inames;
    Exprs conditions;
    int number = -1;  // of its point, once needed

    Frame under(const Expr& condition, bool holds) const;
    /// Conjunctions are split, so that their affine parts count where others are not.
    void add(const Expr& condition, bool holds);
  };
  int number(Frame& frame);  // its point

  /// Calls `visit` for each use of an array or scalar, instruction by instruction: predicates,
  /// right side, assignees.
  void for_each_use(const std::function<void(const Use&)>& visit);

  const std::vector<std::string>& inames(int point) const { return points_[point].inames; }
  const Exprs& conditions(int point) const { return points_[point].conditions; }
  /// The instances that evaluate the expression at `point`, over its inames. Conditions that are
  /// not quasi-affine in inames and integer arguments are left out.
  const Set& instances(int point);
  /// Whether these take in every condition.
  bool exact(int point);
  /// `e` as a function of the point's inames; nothing unless it is quasi-affine in inames and
  /// integer arguments.
  std::optional<PwAff> affine(int point, const Expr& e);
  struct JoinedPoints : Joined {
    bool exact = true;  // as above
  };
  /// Fewer instances and simpler expressions that take the values that `exprs` take at `point`,
  /// where loops can be joined there.
  std::optional<JoinedPoints> joined(int point, const Exprs& exprs);
  /// Whether all that `e` reads are inames and integer arguments.
  bool static_integers(const Expr& e);
  /// Parameters of `s` that are temporaries: data-dependent bounds.
  std::vector<std::string> temporaries_in(const Set& s) const;

 private:
  struct ProgramPoint {
    std::vector<std::string> inames;
    Exprs conditions;
    Set set;
    bool exact = true;
  };
  void visit_expr(const Expr& e, Frame& frame, const std::function<void(const Use&)>& visit);

  const Kernel& k_;
  LoopJoiner loops_;
  const Instruction* insn_ = nullptr;
  std::vector<ProgramPoint> points_;
  std::unordered_map<std::string, bool> static_;  // by name: an iname or an integer argument
  std::unordered_map<std::string, int> by_key_;
  std::unordered_map<std::string, Set> domains_;
};

/// Fails `rank-mismatch` unless the use has one subscript per axis, or a flat one.
void check_rank(const Use& use, std::size_t axes);

}  // namespace moonloop
