#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Sets the memory layout of the axes of arrays; one tag for each axis, or one `c` or `f` for all:
///
///     c, f          the last axis, or the first, is contiguous
///     N0, N1, ...   how far outside the axis is nested; N0 is contiguous
///     stride:E      E elements apart
///
/// `c`, `f` and `N` may end in `(pad=k)`: the span of the axis and those inside is rounded up to a
/// multiple of k elements. For an argument this changes what the caller has to pass.
///
/// Refuses  unknown-array  no array has the name
///          bad-axis-tag   a tag of another form, too few or too many, levels missing or twice
///          bad-strides    several elements in a place, or a temporary without constant shape
///          unsupported    `sep`, `vec`
Kernel tag_array_axes(const Kernel& k, const std::vector<std::string>& names,
                      const std::vector<std::string>& tags);

}  // namespace moonloop
