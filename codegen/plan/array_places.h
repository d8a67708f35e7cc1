#pragma once
#include "codegen/plan/plan.h"

namespace moonloop {

/// How the elements of an array lie that a device keeps in memory from which it loads vectors.
struct ArrayPlaces {
  Exprs strides;  // one, of a flat subscript
  Expr offset;

  /// How many elements a step of `iname` is long; nothing where that is not one number.
  std::optional<std::int64_t> step(const Load& l, const std::string& iname) const;
  /// How many elements are in front of that one.
  Expr place(const Load& l) const;
};

/// Nothing for arrays in constant memory, in registers, or of known values.
std::optional<ArrayPlaces> places_in(const Plan& plan, const Load& l);

}  // namespace moonloop
