#pragma once
#include <memory>
#include <string>

namespace moonloop {

/// The role of an argument for a Fortran caller besides a number.
enum class FortranRole {
  None,
  Character,
  Result,
  Component,  // of an argument of a derived type
  Extent,     // how long an axis of an array is
  Lower,      // the first subscript of an axis
  Entry,      // the value of another argument at the routine's start
  Present,    // whether another argument is there, 1 or 0
};

/// Where a component lies in what a Fortran caller passes.
struct FortranComponent {
  std::string of, path;      // the argument of a derived type, and `%part%x`, or `(:)%part%x(:)`
  std::string type, module;  // that type; no module where the routine declares it
  bool array = false;        // that argument is, or a part of an outer one on the path
  bool nested = false;       // an array of each element of an array: Fortran has no name for all
  bool polymorphic = false;  // that argument is of the type or one that extends it
  std::string pointer;       // that argument is a pointer: its attributes, as declared
};

/// A variable that no caller passes: the routine has it from elsewhere, or keeps it.
struct FortranOuter {
  enum class Kind {
    Module,
    Program,  // around the routine
    Common,   // in a common block
    Saved,    // from call to call
  } kind = Kind::Module;
  std::string module;        // or the common block; blank for Common without a name
  std::string name;          // there; of Common and Saved the one in `declarations`
  std::string declarations;  // of Common, all of the block, and of Saved: lines of Fortran
  bool per_thread = false;   // OpenMP's `threadprivate`
};

/// What an argument is for a Fortran caller; not part of the kernel's text.
struct FortranArgument {
  FortranRole role = FortranRole::None;
  bool logical = false;       // an integer of that size in the kernel
  bool text = false;          // characters, whose number is the first axis
  bool assumed_size = false;  // only the caller knows how long it is
  bool allocatable = false;   // to the caller
  bool optional = false;      // to the caller: no address where it is not there
  bool resident = false;      // it stays on the device between calls
  std::string pointer;        // it is one to the caller: `, pointer, intent(in)`
  std::string procedure;      // the address of one: its attributes, `real(8), external`
  std::string of;             // of Entry and Present: that argument. Of Lower: the array
  int axis = 0;               // of Lower, from 0
  std::shared_ptr<const FortranComponent> component;
  std::shared_ptr<const FortranOuter> outer;  // no argument of the routine itself
};

}  // namespace moonloop
