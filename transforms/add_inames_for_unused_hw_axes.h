#pragma once
#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Puts instructions in the loops on axes of groups and work-items that others use and they do not:
/// add_inames_to_insn for each of these loops.
///
///     tag i: g.0, j: l.0                       tag i: g.0, j: l.0
///     for i: t = a[i]                          for i, j: t = a[i]
///     for i, j: b[i, j] = t                    for i, j: b[i, j] = t
///
/// Refuses  no-match; several-inames  two loops are on an axis that an instruction does not use;
///          open-axis  an iname is tagged `l.auto`; and what add_inames_to_insn() refuses
Kernel add_inames_for_unused_hw_axes(const Kernel& k, const Match& within,
                                     Proof proof = Proof::Made);

}  // namespace moonloop
