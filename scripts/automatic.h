#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "codegen/codegen.h"
#include "core/model/kernel.h"
#include "scripts/script.h"

namespace moonloop {

/// A schedule that nobody wrote.
struct Automatic {
  Kernel kernel;
  std::string script;  // the Lua that makes it
};

struct AutomaticOptions {
  std::map<std::string, std::int64_t> params = {};  // what parameters may be, as far as it is known
  std::string prefix = {};                          // begins the names of the script's knobs
  bool called = false;                              // other kernels call it
};

/// Of `k`, for the target. Deterministic. Fails as `lp.auto` (scripts/lib/auto.lua).
Automatic automatic(const Kernel& k, Target target, const AutomaticOptions& how,
                    const ScriptOptions& options);

}  // namespace moonloop
