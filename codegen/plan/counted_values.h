#pragma once
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "codegen/plan/plan.h"

namespace moonloop {

/// The values that the hardware gives inames.
class CountedValues {
 public:
  /// The plan has its `launches`, and outlives this.
  explicit CountedValues(const Plan& plan) : plan_(plan) {}

  /// Those of the iname in that kernel, as a parameter: as many as the longest of the inames on its
  /// axis needs, or, where the host's loops around the kernel leave some out and their number has
  /// no cases, what is left. All values, where a bound is not affine. Asked once for each axis and
  /// first value.
  Set values(int launch, const std::string& iname);

 private:
  Set count(const LaunchPlan& launch, const std::string& iname) const;

  const Plan& plan_;
  /// By kernel, axis and first value: as values of the iname named.
  std::map<std::tuple<int, bool, int, std::string>, std::pair<std::string, Set>> known_;
};

}  // namespace moonloop
