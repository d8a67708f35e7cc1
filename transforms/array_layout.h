#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// The layout of arrays in memory: shared by the transforms on array axes.
namespace moonloop {

/// An argument or a temporary with axes.
struct ArrayLayout {
  Type type;
  Exprs shape;
  Exprs strides;  // as declared or by its order
};

/// The layout of `name`, its type and shape inferred where the kernel leaves them open. Fails
/// `unknown-array` with the kernel's arrays where it is not one, `passed-array` where an external
/// function knows the layout.
ArrayLayout layout_of(const Kernel& k, const std::string& name);

/// Sets shape and strides of the array `name`, as an order where they match one. Fails
/// `bad-strides` as check_strides does, `flat-subscript` where elements are addressed by their
/// places.
void set_layout(Kernel& k, const std::string& name, const Exprs& shape, const Exprs& strides);

/// `k`, without rules if one of them uses one of the arrays: their subscripts would change for
/// every use of the rule.
Kernel without_rules_on(const Kernel& k, const std::set<std::string>& names);

}  // namespace moonloop
