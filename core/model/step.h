#pragma once
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/model/value.h"

/// What was done to a kernel, and what its user vouches for.
namespace moonloop {

/// What the user vouches for, where an access is not affine.
struct Claim {
  enum class Kind { Injective, Disjoint, InBounds, Unsafe } kind;
  std::vector<std::string> names;
  std::string step;  // as shown by `show --what trace`
};

/// One applied transform.
struct Step {
  std::string name;
  ValueList positional;
  ValueDict options;
  Span at;
};

}  // namespace moonloop
