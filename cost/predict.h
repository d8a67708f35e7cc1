#pragma once
#include <string>
#include <vector>

#include "cost/machine_profile.h"
#include "cost/work.h"

/// Predicted times of kernels.
namespace moonloop::cost {

/// One of the things that take time.
struct Bound {
  std::string name;    // `arithmetic`, `memory`, `L2`, `launches`, `starvation`, …
  double seconds = 0;  // that it takes by itself, as if all else took none
  double binding = 0;  // of the predicted seconds: while it is what all else waits for
  double amount = 0;   // bytes, or operations, or how often
  std::string unit;    // of the amount: `B`, `op`, or empty
};

struct Prediction {
  double seconds = 0;  // the sum of `binding` over all bounds
  std::vector<Bound> bounds;
  std::string device;     // of the profile
  bool measured = false;  // the profile is
  Remarks remarks;        // what is simplified, or assumed
  /// The bound that binds longest.
  const Bound& bottleneck() const;
};

struct PredictOptions {
  AssumedTrips trips;
  /// Arrays are on the device already, and stay there; else transfers count.
  bool resident = false;
};

/// The time of one run of the kernel whose work this is, from the second run on: what fits into a
/// cache is in it. Deterministic. Fails `missing-parameter`, `data-dependent-count`. Cost:
/// microseconds for each access and loop.
Prediction predict(const Work& work, const Integers& params, const MachineProfile& profile,
                   const PredictOptions& options = {});
/// The same with the analysis of the kernel.
Prediction predict(const Kernel& k, Target target, const Integers& params,
                   const MachineProfile& profile, const PredictOptions& options = {});

}  // namespace moonloop::cost
