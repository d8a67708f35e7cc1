#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Puts numbers in place of parameters, in bounds, shapes, assumptions and expressions; the
/// arguments of those names go.
///
///     kernel fill(n, a[n]); for 0 <= i < n: a[i] = n   with n = 16   becomes
///     kernel fill(a[16]);   for 0 <= i < 16: a[i] = 16
///
/// With `within`, only the expressions of those instructions change; the parameters stay, and are
/// assumed to have the values.
/// `reals` are numbers that are not integers, for parameters whose type is none either.
/// Refuses  unknown-parameter  a name is not a parameter
///          bad-value          the value does not fit the argument's type, or is real and there is
///                             `within`: nothing can be assumed of a real parameter
///          empty-assumptions  it contradicts the assumptions
///          no-match           `within` selects no instruction
Kernel fix_parameters(const Kernel& k,
                      const std::vector<std::pair<std::string, std::int64_t>>& values,
                      const Match& within = {},
                      const std::vector<std::pair<std::string, double>>& reals = {});

}  // namespace moonloop
