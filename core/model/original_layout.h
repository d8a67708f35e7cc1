#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Element [axes...] of an argument is element [index...] of the argument `of` of the kernel that
/// the transforms began with; it is padding where that one has no such element. Verification uses
/// this when a transform gave the caller other arrays to pass.
struct OriginalLayout {
  std::string of;
  std::vector<std::string> axes;
  Exprs index;
  /// Subscripts of arrays in between, in `axes`, with extents: beyond these is padding too.
  std::vector<std::pair<Expr, std::int64_t>> within = {};
};

/// That of `a`, an array with `rank` axes.
OriginalLayout original_layout_of(const Argument& a, std::size_t rank);

/// With `value` for the subscript along `axis`, which the axes `fresh` replace. It may go beyond
/// `extent`, that of the axis, if there is one.
OriginalLayout with_axis(const OriginalLayout& c, std::size_t axis, const Expr& value,
                         const std::vector<std::string>& fresh,
                         const std::optional<std::int64_t>& extent = {});

}  // namespace moonloop
