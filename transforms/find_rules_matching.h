#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Names of the substitution rules that a shell-style pattern matches, in the kernel's order.
std::vector<std::string> find_rules_matching(const Kernel& k, const std::string& pattern);

}  // namespace moonloop
