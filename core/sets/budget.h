#pragma once
#include <string>

#include "core/base/diagnostic.h"
#include "core/sets/isl.h"

/// A query of isl may take forever. Each runs within a budget, a number of isl's own operations, so
/// that the answer does not depend on the machine: that of the phase, of the step or of the proof
/// that asks, or, where none is set, the one that a thread begins with.
namespace moonloop {

/// isl stopped at a budget's end. Code that has a cautious answer instead catches it; otherwise it
/// is the error `too-complex`, which names the work being done.
class IslQuota : public Error {
 public:
  using Error::Error;
};

/// While it lives, isl may do `operations`, and no more than is left of the budget around it, which
/// pays for them too.
class IslBudget {
 public:
  /// `what` is being done, as in "checking kernel `k`", for the error; empty: as the budget around
  /// it.
  explicit IslBudget(unsigned long operations, std::string what = {}, const Span& at = {});
  ~IslBudget();
  IslBudget(const IslBudget&) = delete;
  IslBudget& operator=(const IslBudget&) = delete;

  /// How many operations isl has done within it.
  unsigned long used() const;

 private:
  friend void throw_isl();
  IslBudget* around_;
  unsigned long limit_, spent_ = 0;  // spent: within budgets that have ended
  std::string what_;
  Span at_;
};

inline constexpr unsigned long kProofOperations = 5'000'000;  // some seconds
/// Of a transform, besides its proof.
inline constexpr unsigned long kStepOperations = 5'000'000;
/// Of a phase: reading, checking, generating code, …
inline constexpr unsigned long kPhaseOperations = 5'000'000;
/// Of one query of a proof. Its operations are on large systems where it takes many.
inline constexpr unsigned long kQuestionOperations = 500'000;

/// Runs `f` within a budget; refuses `not-proved` at its end. `what` names the claim to be proved.
template <class F>
void within_budget(const Span& at, const std::string& what, F f);

/// For many optional queries: one that takes more than its share is left open, and once they have
/// taken `all`, so is each further one.
class QuestionBudget {
 public:
  QuestionBudget(unsigned long each, unsigned long all) : each_(each), left_(all) {}

  /// Runs `f`; false where it did not come to an end.
  template <class F>
  bool ask(F f) {
    if (left_ == 0) return false;
    const unsigned long most = each_ < left_ ? each_ : left_;
    const IslBudget budget(most);
    bool ends = true;
    try {
      f();
    } catch (const IslQuota&) {
      if (budget.used() < most) throw;  // it is the budget around it that has ended
      ends = false;
    }
    left_ -= budget.used() < left_ ? budget.used() : left_;
    return ends;
  }

 private:
  unsigned long each_, left_;
};

[[noreturn]] void refuse_budget(const Span& at, const std::string& what);

template <class F>
void within_budget(const Span& at, const std::string& what, F f) {
  try {
    const IslBudget budget(kProofOperations);
    f();
  } catch (const IslQuota&) { refuse_budget(at, what); }
}

}  // namespace moonloop
