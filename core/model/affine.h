#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// The bridge between expressions and isl.
namespace moonloop {

/// `e` as a piecewise quasi-affine function on the space of `dims`; names that are not dims become
/// parameters. Nothing when `e` is not quasi-affine (products of variables, loads, calls, reals).
std::optional<PwAff> to_affine(const Expr& e, const std::vector<std::string>& dims);
/// The points of `{ [dims] }` where the condition `e` holds; nothing when it is not quasi-affine.
std::optional<Set> to_condition(const Expr& e, const std::vector<std::string>& dims);
/// The same for a condition of `k`, which depends on instances only: nothing when it depends on a
/// temporary, or on an argument that is not known to be an integer (isl would read
/// `x > 0 and x < 1` as never true).
std::optional<Set> to_condition(const Kernel& k, const Expr& e,
                                const std::vector<std::string>& dims);

/// `{ [dims] -> [exprs...] }`; nothing when some expression is not quasi-affine.
std::optional<Map> to_map(const Exprs& exprs, const std::vector<std::string>& dims);

/// An isl expression as ours; 0 where it is defined nowhere. A piecewise one becomes nested
/// conditionals over its pieces, the last piece taken as the rest; min and max where they fit.
Expr from_affine(const PwAff& a);
Expr from_aff(const Aff& a);
/// The condition that holds exactly on `s`, over dimension and parameter names.
Expr from_set(const Set& s);

}  // namespace moonloop
