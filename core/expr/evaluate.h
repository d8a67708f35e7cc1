#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "core/expr/expr.h"

namespace moonloop {

/// Values of integer scalars, by name.
using Integers = std::map<std::string, std::int64_t>;

/// The value of an integer expression over scalars: extents, strides, bounds. `what` names its
/// purpose, in messages. Fails `size-overflow`, `division-by-zero`, `missing-parameter` (a name
/// without a value), and `data-dependent-size` when the expression is none of these (a load, a
/// real, …).
std::int64_t evaluate(const Expr& e, const Integers& values, const std::string& what);

/// a*b and a+b; fail `size-overflow`, with the name `what`.
std::int64_t checked_mul(std::int64_t a, std::int64_t b, const std::string& what);
std::int64_t checked_add(std::int64_t a, std::int64_t b, const std::string& what);

}  // namespace moonloop
