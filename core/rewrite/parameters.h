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
/// The same with a number in place of an argument that is not an integer.
Kernel with_parameter_fixed(const Kernel& k, const std::string& name, double value);

/// `k` with another name for an argument, which nothing has yet. An array stays the one of the old
/// name for comparisons with the kernel that the transforms began with.
Kernel with_argument_renamed(const Kernel& k, const std::string& name, const std::string& fresh);

/// The same as with_parameter_fixed() in one expression.
Expr with_parameter_fixed(const Kernel& k, const Expr& e, const std::string& name,
                          std::int64_t value);

}  // namespace moonloop
