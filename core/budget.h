#pragma once
#include <string>

#include "core/isl.h"
#include "core/source.h"

/// A proof may ask isl for something that takes for ever. Within a budget, isl stops after a fixed
/// number of its own operations, so the answer does not depend on the machine.
namespace moonloop {

/// isl stopped at the budget's end.
class IslQuota : public IslError {
 public:
  using IslError::IslError;
};

/// While it lives, isl may do `operations` in all, and no more than a budget around it allows,
/// which counts from none again afterwards.
class IslBudget {
 public:
  explicit IslBudget(unsigned long operations);
  ~IslBudget();
  IslBudget(const IslBudget&) = delete;
  IslBudget& operator=(const IslBudget&) = delete;

 private:
  unsigned long around_;  // the outer budget; 0 for none
};

inline constexpr unsigned long kProofOperations = 5'000'000;  // some seconds
/// Of a transform, beside its proof.
inline constexpr unsigned long kStepOperations = 5'000'000;

/// Runs `f` within a budget; refuses `not-proved` at its end. `what` is what was to be proved.
template <class F>
void within_budget(const Span& at, const std::string& what, F f);

[[noreturn]] void refuse_budget(const Span& at, const std::string& what);

template <class F>
void within_budget(const Span& at, const std::string& what, F f) {
  try {
    const IslBudget budget(kProofOperations);
    f();
  } catch (const IslQuota&) { refuse_budget(at, what); }
}

}  // namespace moonloop
