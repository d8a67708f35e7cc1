#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/sets/isl.h"

/// Transforms that add knowledge about a kernel's parameters. It is added to the kernel's reference
/// too, so that later proofs know it; none changes an order.
namespace moonloop {

/// Names that assumptions may use: parameters of domains and scalar arguments, sorted.
std::vector<std::string> parameters_of(const Kernel& k);

/// `k` under the further assumption, a parameter set.
Kernel with_assumption(const Kernel& k, const Set& assumption);

/// `k` with the integer in place of the parameter everywhere; the argument of that name goes.
Kernel with_parameter_fixed(const Kernel& k, const std::string& name, std::int64_t value);
/// The same in one expression.
Expr with_parameter_fixed(const Kernel& k, const Expr& e, const std::string& name,
                          std::int64_t value);

}  // namespace moonloop
