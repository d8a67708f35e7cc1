#pragma once
#include <string>
#include <vector>

#include "core/kernel.h"

namespace moonloop {

/// Element [axes...] of an argument is element [index...] of the argument `of` of the kernel that
/// the transforms began with; it is padding where that one has no such element. What verification
/// goes by when a transform gave the caller other arrays to pass.
struct Counterpart {
  std::string of;
  std::vector<std::string> axes;
  Exprs index;
};

/// That of `a`, an array with `rank` axes.
Counterpart counterpart_of(const Argument& a, std::size_t rank);

/// With `value` for the subscript along `axis`, in whose place the axes `fresh` stand.
Counterpart with_axis(const Counterpart& c, std::size_t axis, const Expr& value,
                      const std::vector<std::string>& fresh);

}  // namespace moonloop
