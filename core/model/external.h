#pragma once
#include <optional>
#include <string>

#include "core/expr/external_arguments.h"
#include "core/model/kernel.h"

/// Calls of functions outside of a kernel, `external f` in its text: `a, b = f("text", a, 2*x)`.
/// They are called as Fortran calls: every argument by its address, values as copies. Such a call
/// may change the variables on its left, no more. The result of a function, `external f: float64`,
/// goes to the first of these.
///
/// `address(a)` or `address(a[i])` passes an array, or its tail from an element on: any element may
/// be read, and changed where `a` is on the left. `knows(a)` says the same of an array that the
/// function knows from elsewhere, such as a variable of a module; nothing is passed.
///
/// The function may be another kernel, `call f(n, a[i, :])`: then the call is one of C, what it
/// accesses is known from the kernel's body, and core/model/call_binding.h says what its arguments
/// stand for.
namespace moonloop {

/// `before`, `name` and `after` as one name. Names of Fortran have at most 63 characters: a number
/// made from the whole name stands for what is too much of it.
std::string fortran_name(const std::string& before, const std::string& name,
                         const std::string& after = {});

/// The call that ends the program of a kernel from Fortran: `stop_in_f("text", status)`.
std::string stop_name(const std::string& kernel);

/// Takes out the functions and kernels that no instruction calls. Linear.
void drop_unused_externals(Kernel& k);

/// Whether the call is given the address of `array`.
bool is_passed_to(const Call& call, const std::string& array);
/// Whether `insn` is one that is.
bool is_passed_to(const Kernel& k, const Instruction& insn, const std::string& array);
/// Whether the variable `name` on the left of `insn` stands for a variable elsewhere: a call
/// changes it without being given it.
bool stands_for_elsewhere(const Kernel& k, const Instruction& insn, const std::string& name);
/// Fails `passed-array` where an external function is given the address of `array`, and so knows
/// its layout. Linear.
void require_not_passed(const Kernel& k, const std::string& array);

/// The call, where `insn` is a call of an external function; null otherwise.
const Call* external_call(const Kernel& k, const Instruction& insn);
/// The kernel that `insn` calls; null where it calls none.
const CalledKernel* called_kernel(const Kernel& k, const Instruction& insn);

}  // namespace moonloop
