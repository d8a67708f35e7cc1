#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

struct SplitScanOptions {
  // New inames and the ids of new instructions; chosen where empty.
  std::string part_iname, terms_iname, start_iname, parts_iname, own_iname;
  std::string part_id, start_id, own_id;
  AddressSpace space = AddressSpace::Auto;  // of the parts and the starts
  Span at;
  Proof proof = Proof::Made;
};

/// Divides the terms of a scan at the beginnings of blocks:
///
///     for b, t: y, z = reduce(op, j, v[j], f[j])    with j <= size*b + t
///
/// becomes, with `b` as block, `t` as item and `size*b` as first,
///
///     for p:    part[p], part_0[p] = reduce(op, u, v[size*p + u], f[size*p + u])   u < size
///     for s:    start[s], start_0[s] = reduce(op, c, part[c], part_0[c])            c < s
///     for b, t: own, own_0 = reduce(op, w, v[w], f[w])                              size*b <= w
///               y, z = what start[b], start_0[b] and own, own_0 combine to
///
/// The terms stay in their order, so this is for segmented reductions too. Loops around stay around
/// all of it. Reductions of one value lose nothing of what is around them: `2*sum(j, v[j])`.
///
/// \param first  number of a block's first term: affine in `block` and the loops around
/// Refuses  no-match (no instruction `id`); unknown-iname; not-a-reduction-loop; no-reduction (not
///          one reduction, over one iname, that no condition decides about); bad-place (`first`);
///          not-a-scan (blocks that do not begin `size` terms after each other, or terms of a block
///          before that not all iterations have, each with an instance); one-block (no terms are
///          before a block); stale-value, not-proved  as staging does
/// The new order of evaluation becomes the kernel's meaning. Cost: isl for the new loops.
Kernel split_scan(const Kernel& k, const std::string& id, const std::string& block,
                  const std::string& item, const std::string& first, std::int64_t size,
                  const SplitScanOptions& o);

}  // namespace moonloop
