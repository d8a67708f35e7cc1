#pragma once
#include <optional>

#include "core/kernel.h"

/// Where the elements of an array stand in its memory.
namespace moonloop {

/// An extent that nobody knows, of an array whose elements lie where strides say: more than any.
inline constexpr std::int64_t kUnknownExtent = (std::int64_t{1} << 31) - 1;

/// Strides in elements of an array with this shape, as declared or by its order.
Exprs strides_of(const Exprs& shape, Order order, const std::optional<Exprs>& declared);

/// The least multiple of `n` that is not below `e`.
Expr rounded_up(const Expr& e, std::int64_t n);

/// The elements that an array with declared strides spans, gaps counted; nothing unless shape and
/// strides are constant.
std::optional<std::int64_t> span_of(const Exprs& shape, const Exprs& strides);

/// Whether strides put several elements in a place, as far as constants tell: one is 0, or all are
/// known and each is not at least what the axes with smaller ones span.
bool overlaps(const Exprs& shape, const Exprs& strides);

/// Fails `bad-strides` unless a temporary's strides keep its elements apart: constants, one for
/// each axis, and each at least what the axes with smaller ones span.
void check_strides(const Temporary& t);

}  // namespace moonloop
