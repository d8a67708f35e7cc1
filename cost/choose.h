#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cost/predict.h"

/// Choosing between versions of a kernel by predicted times.
namespace moonloop::cost {

/// The number of the version with the least prediction, the first one of equals: callers list
/// simpler targets first. 0 for none.
std::size_t fastest(const std::vector<double>& seconds);

/// A value of a parameter from which on another version is chosen.
struct Crossover {
  std::int64_t value = 0;
  std::size_t before = 0, after = 0;  // versions: of `value - 1`, and of `value`
};

/// All values from `first` to `last` at which `choice` changes, in order. Values at `first` and its
/// doublings are compared; where two neighbours or their middle differ, the halves between them are
/// searched, so each change that is found is exact. A version that is chosen only strictly between
/// two doublings, and not at their middle, is not found. Cost: a choice for each step.
std::vector<Crossover> crossovers(std::int64_t first, std::int64_t last,
                                  const std::function<std::size_t(std::int64_t)>& choice);

}  // namespace moonloop::cost
