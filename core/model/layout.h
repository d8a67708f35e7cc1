#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// The positions of the elements of an array in its memory.
namespace moonloop {

/// The extent of an array with strides that has an unknown one: more than any.
inline constexpr std::int64_t kUnknownExtent = (std::int64_t{1} << 31) - 1;

/// Strides in elements of an array with this shape, as declared or by its order.
Exprs strides_of(const Exprs& shape, Order order, const std::optional<Exprs>& declared);

/// The least multiple of `n` that is not below `e`.
Expr rounded_up(const Expr& e, std::int64_t n);

/// The elements that an array with declared strides spans, gaps counted; nothing unless shape and
/// strides are constant.
std::optional<std::int64_t> span_of(const Exprs& shape, const Exprs& strides);

/// Subscripts of two elements that are one place in memory.
struct SamePlace {
  std::vector<std::int64_t> first, second;
  /// "`a[0, 1]` and `a[1, 0]`"
  std::string text(const std::string& array) const;
};
/// Two such elements of an array; nothing where each has a place of its own. Cost: a query of isl
/// unless each stride is at least what the axes with smaller ones span.
std::optional<SamePlace> same_place(const std::vector<std::int64_t>& shape,
                                    const std::vector<std::int64_t>& strides);
/// The same for all arrays of that shape, where extents that are not constant are 2 or more;
/// nothing where strides are not constant.
std::optional<SamePlace> same_place(const Exprs& shape, const Exprs& strides);

/// Fails `bad-strides` unless a temporary's strides are constants, one for each axis, that keep its
/// elements apart.
void check_strides(const Temporary& t);

}  // namespace moonloop
