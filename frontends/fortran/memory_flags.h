#pragma once
#include "frontends/fortran/program.h"
#include "frontends/fortran/sections.h"

// Whether variables have memory. The reader has variables for that, kAllocated or kMemory and their
// names, until it is known which of them something asks, and what they are.
namespace moonloop::fortran {

/// Above 0 where an allocatable or a pointer, whoever has it, has memory.
inline constexpr const char* kMemory = "memory of ";

/// Those of the routine's own variables: a constant where the statements before say it, else a
/// logical variable; of a pointer to other variables, whether it is associated.
void settle_own_memory(Routine& routine);
/// The same once calls have been put in place, which may have asked for more. Afterwards no
/// variable is known to have such a flag.
void fold_memory_flags(Routine& routine);
/// Those of others: arguments, which the interface passes. Fails `unsupported` for variables of the
/// routine around.
void settle_memory(Routine& routine);
/// The same of a call that Fortran makes, of which this is not asked before it is known that it
/// does.
void settle_memory(SubroutineCall& call, Routine& routine);
/// That argument for a variable of the routine, which it gets where it has none.
std::string memory_argument(const std::string& variable, Routine& routine);

}  // namespace moonloop::fortran
