#pragma once
#include <string>
#include <vector>

#include "core/kernel.h"

namespace moonloop {

enum class Target { C, OpenMP, OpenCL, Cuda };
std::string to_string(Target t);                       // as on the command line
std::optional<Target> parse_target(std::string_view);  // nothing for an unknown name

/// One parameter of the generated function, in order.
struct Parameter {
  std::string name;
  Type type;
  bool is_array = false;
  Intent intent = Intent::In;
  Exprs shape;    // of arrays, over the scalar parameters
  Exprs strides;  // in elements
  Expr offset;    // in elements; null is 0
};

/// What code generation returns.
struct Program {
  Target target = Target::C;
  std::string name;    // of the kernel and of the C function
  std::string source;  // a whole translation unit
  std::string header;  // a C header for it
  std::vector<Parameter> params;
};

/// Generates code. `k` is any legal kernel. Fails with a diagnostic that names the instruction and
/// the tag where the target cannot express something. Same input, same output, byte for byte.
Program generate(Kernel k, Target target);

}  // namespace moonloop
