#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "transforms/precompute.h"

namespace moonloop {

struct PrefetchOptions {
  std::vector<std::string> dim_arg_names;   // of the new loops; `<array>_dim_N` for those not given
  std::string rule_name;                    // `<array>_fetch_rule`
  std::vector<Exprs> footprint_subscripts;  // a null expression means the whole axis
  /// The rest; `temporary_name` is `<array>_fetch` unless given. `tag` selects accesses `a$tag[i]`.
  PrecomputeOptions precompute;
};

/// Copies the elements of an array that instructions read into a temporary, ahead of the reads.
///
///     for i: c[i] = a[i+1] - a[i]      becomes, with `i` swept,
///
///     for a_dim_0: a_fetch[a_dim_0] = a[a_dim_0]
///     for i: c[i] = a_fetch[i+1] - a_fetch[i]
///
/// It is extract_subst of all reads followed by precompute; reads that were not selected, or that
/// are outside of the given footprint, stay reads of the array.
///
/// Refuses  unknown-array, no-match, bad-footprint, name-taken, and all that precompute refuses
Kernel add_prefetch(const Kernel& k, const std::string& array, const PrefetchOptions& o);

}  // namespace moonloop
