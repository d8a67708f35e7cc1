#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct DistributeOptions {
  std::vector<std::string> suffixes = {};  // one for each group, or none
  Proof proof = Proof::Made;
};

/// The statements of a loop get loops of their own, one after the other.
///
///     for i: b[i] = a[i]           with i distributed is    for i: b[i] = a[i]
///            for j: c[i, j] = b[i]                          for i_0: for j: c[i_0, j] = b[i_0]
///
/// Loops within it, and of reductions, that statements of several groups share are distributed
/// along with it. The copies have the tags of the loops that they copy.
///
/// \param groups  in the order in which their loops run; statements in none are the last one. None:
///                as many groups as the dependences allow, see finest_distribution()
/// Refuses  unknown-iname; not-a-loop; no-match; in-two-groups; one-group; name-count; name-taken;
///          shared-bound; breaks-order, or not-proved, with two instances: a statement of a later
///          group runs before one of an earlier group that depends on it; and all that check_legal
///          refuses
/// Cost     a proof of order; isl for each different pair of accesses across groups
Kernel distribute_loops(const Kernel& k, const std::string& iname, const std::vector<Match>& groups,
                        const DistributeOptions& o = {});

}  // namespace moonloop
