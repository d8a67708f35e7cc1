#pragma once
#include <string>

namespace moonloop {

/// The role of an argument for a Fortran caller besides a number; not part of the text.
enum class FortranRole {
  None,
  Character,
  Result,
  Component,  // of an argument of a derived type
  Extent,     // how long an axis of an array with an assumed shape is
  Entry,      // the value of another argument at the routine's start
};

/// Where a component lies in what a Fortran caller passes.
struct FortranComponent {
  std::string of, path;      // the argument of a derived type, and `%part%x`
  std::string type, module;  // that type; no module where the routine declares it
  bool array = false;        // that argument is an array
  bool nested = false;       // an array of each element of an array: Fortran has no name for all
};

}  // namespace moonloop
