#pragma once
#include "cost/formula.h"
#include "cost/predict.h"

/// A guard in closed form: which of two versions is predicted to be faster, as a comparison of
/// formulas in the parameters.
namespace moonloop::cost {

/// A version of the kernel, and the machine that it runs on.
struct GuardedVersion {
  const Work& work;
  const MachineProfile& profile;
};

struct Guard {
  std::vector<std::string> parameters;
  // Of one parameter, or none: the exact values from which on the choice is another one.
  bool device_first = false;  // below the first of them
  std::vector<std::int64_t> changes;
  // Of several: seconds.
  Formula host, device;
  // What was compared with the model: sizes, at how many the guard chooses another version, and
  // how many times as long as the best one this is predicted to take, at most.
  int sizes = 0, differ = 0;
  double worst = 1;

  bool prefers_device(const Integers& values) const;
  /// For one parameter the comparison in C, `n >= 104`; else empty.
  std::string c_condition() const;
};

/// Of one parameter: searches the values at which the choice changes, see crossovers().
///
/// Of several: fits the model's predictions by sums of the counts that it uses, which are exact:
/// how often loops start and run, launches and barriers, bytes of arrays, and the parameters.
/// Factors are not negative, and relative errors count, most where both versions take about as
/// long. Where one sum does not do, there are cases, by the bytes of all arrays or by a parameter.
/// Sizes that are fitted are spread evenly over the parameters' orders of magnitude, as far as
/// arrays have no more than 16 GiB and one version takes no more than a minute, and are added where
/// the choice changes.
///
/// \param assumptions  on the parameters; sizes that they exclude are not fitted; null: none
/// Fails as predict() does. Deterministic. Cost: 1000 to 4000 predictions.
Guard fit_guard(const GuardedVersion& host, const GuardedVersion& device, const Set& assumptions,
                const PredictOptions& options = {});

/// Sizes as fit_guard() takes them, `number` of them or fewer; others for another `seed`.
std::vector<Integers> guard_sizes(const GuardedVersion& host, const GuardedVersion& device,
                                  const Set& assumptions, const PredictOptions& options,
                                  std::size_t number, unsigned seed);

}  // namespace moonloop::cost
