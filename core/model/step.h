#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/model/value.h"

/// The steps done to a kernel, and the claims of its user.
namespace moonloop {

/// A claim of the user, for an access that is not affine.
struct Claim {
  enum class Kind { Injective, Disjoint, InBounds, Unsafe } kind;
  std::vector<std::string> names;
  std::string step;  // as shown by `show --what trace`
  /// Unsafe: by iname, the loops that stood inside of it. Two of its iterations need no order
  /// whatever these are at; loops that are not here have to agree.
  std::map<std::string, std::set<std::string>> inside = {};
};

/// One applied transform.
struct Step {
  std::string name;
  ValueList positional;
  ValueDict options;
  Span at;
};

}  // namespace moonloop
