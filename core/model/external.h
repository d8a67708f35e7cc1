#pragma once
#include <optional>
#include <string>

#include "core/expr/external_arguments.h"
#include "core/model/kernel.h"

/// Calls of functions that stand outside of a kernel, `external f` in its text: `a, b = f("text",
/// a, 2*x)`. They are called as Fortran calls: every argument by its address, values as copies.
/// Such a call may change what stands on its left, no more. What a function gives, `external f:
/// float64`, goes to the first on the left.
///
/// `address(a)` or `address(a[i])` passes an array, or what of it stands behind an element: any
/// element may be read, and changed where `a` stands on the left.
namespace moonloop {

/// What ends the program that a kernel of Fortran stands in: `stop_in_f("text", status)`.
std::string stop_name(const std::string& kernel);

/// Whether `insn` is given the address of `array`.
bool is_passed_to(const Kernel& k, const Instruction& insn, const std::string& array);
/// Whether the variable `name` on the left of `insn` stands for what is elsewhere: a call changes
/// it without being given it.
bool stands_for_elsewhere(const Kernel& k, const Instruction& insn, const std::string& name);
/// Fails `passed-array` where something external is given the address of `array`, whose layout it
/// knows. Linear.
void require_not_passed(const Kernel& k, const std::string& array);

/// The call, where `insn` is one of something external; null otherwise.
const Call* external_call(const Kernel& k, const Instruction& insn);

}  // namespace moonloop
