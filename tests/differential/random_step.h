#pragma once
#include <string>

#include "core/model/kernel.h"
#include "tests/differential/random.h"

namespace moonloop::differential {

/// One call of a transform, as the registry takes it.
struct Call {
  std::string name;
  ValueList positional;
  ValueDict options;
  std::string str() const;  // as Lua
};

/// Which tags are tried: those of hosts and devices alike, or more of those for devices.
enum class Flavour { Host, Device };

/// A random step for `k`: of the right kind, with names that `k` has; whether it is legal is open.
Call random_step(Random& random, const Kernel& k, Flavour flavour);

}  // namespace moonloop::differential
