#pragma once
#include <string>
#include <vector>

#include "codegen/print/c_arithmetic.h"

namespace moonloop {

/// The function of ISPC for one of C's mathematical library: its own where that has the same
/// meaning, else `moonloop_NAME`, which ispc_definition() defines.
std::string ispc_function(const std::string& name);

/// What has to be defined for it, of one type: functions that others call first. Empty where ISPC
/// has the function. Those of the C library that are not written out are called for one lane at a
/// time. `type`: for the lanes of a gang, or for all of them at once.
std::string ispc_definition(const std::string& name, Scalar s);

/// Infinity, or what is not a number, of a real type.
std::string ispc_special(bool infinity, Scalar s);

}  // namespace moonloop
