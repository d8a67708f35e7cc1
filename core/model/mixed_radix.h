#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Mixed-radix numbers of inames, as split_iname makes them.
namespace moonloop {

/// The largest difference between values of an iname; nothing when that is not constant.
using RangeOf = std::function<std::optional<std::int64_t>(const std::string& iname)>;

/// The inames of `16*i_outer + i_inner`, outer to inner, if equal values mean equal inames and the
/// order of values is the lexicographic order of the inames; nothing otherwise. Constant terms make
/// no difference. Linear in the terms.
std::optional<std::vector<std::string>> digits(const Expr& value, const RangeOf& range);

/// The same with the ranges of plain_range().
std::optional<std::vector<std::string>> plain_digits(const Kernel& k, const Expr& value);

/// The same for the pieces that chunk_iname makes, `(0 if o == 0 else n // 3 + min(1, n % 3) if o
/// == 1 else ...) + i`: where a piece begins, plus digits. `domain` holds the points of the inames.
/// Linear in the number of pieces, with two small questions to isl for each; pieces of pieces are
/// joined first (core/model/joined_loops.h).
std::optional<std::vector<std::string>> piece_digits(const Kernel& k, const Expr& value,
                                                     const Set& domain, const RangeOf& range);

/// The range of `iname` from the constraints of its own domain that have no parameters, each by
/// itself; nothing where these leave it open. Without isl's optima.
std::optional<std::int64_t> plain_range(const Kernel& k, const std::string& iname);

}  // namespace moonloop
