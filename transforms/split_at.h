#pragma once
#include <string>

#include "core/order/reordered.h"

namespace moonloop {

/// Names of the two loops. Where they are empty, the first one keeps the name, and one is chosen
/// for the second.
struct SplitAtNames {
  std::string before, from;
};

/// `k` with the loop `iname` cut at the value `at`, an expression over the loops around it and
/// parameters: a loop over lesser values, then one over the others, with copies of the
/// instructions. See the documentation of the step. The order that it has is the new meaning;
/// `proof` is of what loops with tags need.
Kernel split_at(const Kernel& k, const std::string& iname, const std::string& at,
                const SplitAtNames& names, const Span& span, Proof proof = Proof::Made);

}  // namespace moonloop
