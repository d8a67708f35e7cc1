#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sets/isl.h"

/// Sets over named dimensions.
namespace moonloop {

/// Names of a set's dimensions and of its parameters. Every dimension has a name.
std::vector<std::string> dim_names(const Set& s);
std::vector<std::string> param_names(const Set& s);

/// `{ [names...] : }`, everything, with no parameters.
Set universe(const std::vector<std::string>& names);

/// The same set over dimensions `names`: a dimension not listed is projected out (existentially), a
/// name not present becomes an unconstrained dimension, and a parameter that is listed becomes a
/// dimension.
Set to_dims(Set s, const std::vector<std::string>& names);

/// Dimensions `names` become parameters.
Set dims_to_params(Set s, const std::vector<std::string>& names);
/// All dimensions of `s` as parameters: a parameter set.
Set all_to_params(Set s);
/// Without the parameters `names`, existentially.
Set drop_params(Set s, const std::vector<std::string>& names);
Set rename_dims(Set s, const std::map<std::string, std::string>& names);
/// Intersection of two sets by dimension name: the result has the dimensions of `a`, then those of
/// `b` that `a` lacks.
Set join_by_name(Set a, Set b);

/// One concrete point of `s` (empty: nothing), small where possible: parameters are minimized
/// first, then the dimensions lexicographically.
struct Sample {
  std::map<std::string, std::int64_t> params, dims;
};
std::optional<Sample> sample(const Set& s);

}  // namespace moonloop
