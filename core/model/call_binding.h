#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// What the arguments of a kernel stand for in a call of it.
namespace moonloop {

struct BoundArgument {
  const Argument* to = nullptr;  // of the callee
  /// Of a scalar its value, of an array without axes the variable or element, or a value where the
  /// callee does not write it. Null for others.
  Expr value;
  /// The caller's array, and the subscripts of the element that the argument begins with.
  std::string array;
  Exprs base;
  /// The caller's axis of each of the argument's axes: element `[e]` is `base` with `e` added along
  /// these. Nothing where the two do not step alike, or where that is not known yet.
  std::optional<std::vector<int>> axes;
};

struct CallBinding {
  std::vector<BoundArgument> all;       // in the callee's order
  std::map<std::string, Expr> scalars;  // by the callee's names
};

/// The strides of an array of the caller, in elements; nothing where they are not known.
using StridesOf = std::function<std::optional<Exprs>(const std::string& array)>;
std::optional<Exprs> strides_in(const Kernel& k, const std::string& array);

/// Whether two strides are the same for all values of their variables, as far as that shows.
bool steps_alike(const Expr& a, const Expr& b);

/// `c`, a call of `callee`, whose arrays have shapes. Linear.
CallBinding bind_call(const Call& c, const Kernel& callee, const StridesOf& strides);
CallBinding bind_call(const Kernel& k, const Call& c, const Kernel& callee);

}  // namespace moonloop
