#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frontends/fortran/program.h"

/// How large index expressions may be in loops.
namespace moonloop::fortran {

/// An upper bound of `e` in all iterations of the loops `around` it, outermost first, over names
/// that `stay` as they are in them; null where none is known.
Expr most(const Expr& e, const std::vector<const Do*>& around,
          const std::function<bool(const std::string&)>& stays);

}  // namespace moonloop::fortran
