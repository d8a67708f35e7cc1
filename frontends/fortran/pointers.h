#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Puts what the routine's own pointers point to in the places of their names. Where that depends
/// on the way that the program took, a new variable says which way that was, and each statement
/// that uses such pointers is there once for each: a loop that swaps two pointers has its
/// statements for either order. Fails `unsupported` for pointers that may point nowhere where they
/// are used, and for more than kMostTargets possibilities at one place. Cost: linear in the
/// statements, times the possibilities.
void resolve_pointers(Routine& routine);

inline constexpr std::size_t kMostTargets = 64;

}  // namespace moonloop::fortran
