#pragma once
#include "frontends/fortran/program.h"

// Whether variables have memory. The reader has variables for that of these prefixes and of their
// names, until it is known which of them something asks, and what they are.
namespace moonloop::fortran {

/// A logical one of a variable of the routine's own, which statements set that give it memory.
inline constexpr const char* kAllocated = "allocated ";
/// Above 0 where an allocatable or a pointer, whoever has it, has memory.
inline constexpr const char* kMemory = "memory of ";

/// Those of the routine's own variables: a constant where the statements before say it, else a
/// logical variable; of a pointer to other variables, whether it is associated.
void settle_own_memory(Routine& routine);
/// Those of others: arguments, which the interface passes. Fails `unsupported` for variables of the
/// routine around.
void settle_memory(Routine& routine);
/// That argument for a variable of the routine, which it gets where it has none.
std::string memory_argument(const std::string& variable, Routine& routine);

}  // namespace moonloop::fortran
