#pragma once
#include <string>

namespace moonloop {

/// A variable that only Fortran can have, in memory of the interface: a kernel gets the address.
struct FortranBox {
  std::string name, type, shape;  // `s`, `character(:)` and `(:)`
  std::string imported, module;   // a derived type, and its module
  bool is_private = false;        // there
  bool allocatable = false;
  bool pointer = false;
  bool record = false;  // the caller's, which the box points to
  bool result = false;  // what a function gives
  bool input = false;   // the kernel does not change it
  bool optional = false;
  std::string bounds;   // of a record's array, as declared
  std::string intent;   // as declared, `, intent(inout)`
};

}  // namespace moonloop
