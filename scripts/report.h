#pragma once
#include <string>

#include "codegen/codegen.h"

/// What `moonloop show` and the kernel's methods say about a kernel, as text.
namespace moonloop {

std::string report_tree(const Kernel& k);
/// One line a dependence: kind, variable, the two instructions, the relation between their inames.
std::string report_dependences(const Kernel& k);
/// The same between two instructions alone, in either direction. Fails `unknown-instruction`.
std::string report_dependences(const Kernel& k, const std::string& a, const std::string& b);
/// The loops as code generation plans them for `target`.
std::string report_schedule(const Kernel& k, Target target);
/// How many of each thing there are, and operations and accesses as written, by instruction.
std::string report_stats(const Kernel& k);

}  // namespace moonloop
