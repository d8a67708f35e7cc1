#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// The kernel as kernel text that parses back to the same kernel.
std::string print_kernel(const Kernel& k);
/// One instruction as a line of kernel text, options included.
std::string print_instruction(const Kernel& k, const Instruction& insn);
/// The same without its options.
std::string print_statement(const Instruction& insn);

}  // namespace moonloop
