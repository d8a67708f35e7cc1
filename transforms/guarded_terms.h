#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/infer/typing.h"
#include "core/model/kernel.h"

namespace moonloop {

/// The terms of a reduction that get more instances than they had: those that are new read nothing
/// that the old ones do not read, and add nothing.
///
///     sum(k, a[i, k]*b[k, j])    for i, j, k beyond n too, becomes
///
///     a_read(i, k) := a[i, k] if i < n and k < n else 0
///     b_read(k, j) := b[k, j] if k < n and j < n else 0
///     sum(k, a_read(i, k)*b_read(k, j))
///
/// Parts that read arrays and depend on some of the loops only become rules, each with the
/// condition that concerns its loops, and loops around that bound them; such a rule can be
/// precomputed whole. Where the term is not
/// certain to be neutral by its zeros, as with an infinite factor, it is as a whole under the
/// condition of the loops of the reduction.
class GuardedTerms {
 public:
  /// `before` has the old instances, with all types known; `out` has all, of the loops `rounded`,
  /// and gets the rules.
  GuardedTerms(const Kernel& before, Kernel& out, std::set<std::string> rounded)
      : before_(before), out_(out), rounded_(std::move(rounded)), typer_(before) {}

  /// A reduction of `insn`, in the loops around it, with guarded terms. What it gives is the same
  /// for all instances around it that are old, and of no use for others. `wanted`: the type that
  /// its literals adapt to. Refuses `unsupported` (reductions of two values).
  Expr guarded(const Instruction& insn, const Reduce& r, const std::optional<Type>& wanted,
               const Span& at);

 private:
  /// The instances of a reduction's terms, by the loops around it, then its own.
  struct Instances {
    std::vector<std::string> around, loops;
    Set old, all;
    Set known;  // those of `all` that are old around the reduction
    Set added;  // those of `known` that are not old
    bool adds() const { return !yes(isl_set_is_empty(added.get())); }
  };
  Instances instances(const std::vector<std::string>& around,
                      const std::vector<std::string>& reduced) const;
  Expr nested(const Expr& e, const std::vector<std::string>& around) const;
  Expr under(const Expr& term, const Expr& condition, ReduceOp op,
             const std::optional<Type>& type) const;
  enum class Size { Zero, Finite, Unknown };
  Expr parts(const Expr& e, const std::set<std::string>& most);
  Expr rule(const Expr& e, const std::set<std::string>& used);
  std::vector<std::string> in_order_of_subscripts(const Expr& e,
                                                  const std::set<std::string>& used) const;
  std::set<std::string> loops_in(const Expr& e) const;
  bool reads_array(const Expr& e) const;
  bool reads_changing(const Expr& e, const Instruction& insn) const;
  bool may_read_written(const Expr& e, const std::string& array, const Instruction& insn,
                        const Instruction& writer) const;
  bool may_trap(const Expr& e) const;
  bool is_whole(const Expr& e) const;
  Size size(const Expr& e) const;
  Expr zero_of(const Expr& e) const;

  const Kernel& before_;
  Kernel& out_;
  std::set<std::string> rounded_;
  Typer typer_;

  // Of the current reduction.
  Instances is_;
  std::map<std::string, Size> rules_;  // those made for it
};

}  // namespace moonloop
