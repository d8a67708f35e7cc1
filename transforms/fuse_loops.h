#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Loops become one, over the values of all of them; the inverse of distribute_loops.
///
///     for i: b[i] = a[i]                                  for i: b[i] = a[i]
///     for j: c[j] = b[j]       with i and j are                  c[i] = b[i]
///
/// `name`: of the one loop; empty: the first one's. Statements of loops over fewer values get
/// conditions.
///
/// Refuses  too-few-loops (less than two), repeated-iname, name-taken, and all that rename_iname
///          refuses for one loop that joins another: loops around one statement, different tags,
///          and a dependence that would run backwards, with two instances
/// Cost     that of rename_iname, for each loop but the first one
Kernel fuse_loops(const Kernel& k, const std::vector<std::string>& inames, const std::string& name,
                  Proof proof = Proof::Made);

}  // namespace moonloop
