#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Computes a reduction in two stages, with an array between them:
///
///     x = sum((i, j), e)      becomes, with `inames` = `i`,
///
///     for i: part_i[i] = sum(j, e)
///     x = sum(i_0, part_i[i_0])
///
/// The first stage stays in the loops `inames`, which may then run at the same time, in groups of
/// work-items too; the second has loops of its own. All reductions over `inames` and more in the
/// instructions that `within` selects, two-valued ones included.
///
/// \param base  of the names of the arrays; empty: `part_` and the inames
/// Refuses  unknown-iname; no-inames, twice; no-match; no-reduction (none is over `inames` and
///          more); no-extent (the number of values is computed in the kernel); unsupported
///          (segmented reductions); condition-changes (what decides whether the reduction runs is
///          written in the loops `inames`)
///          stale-value, not-proved  as staging does
/// The new order of evaluation becomes the kernel's meaning. Cost: isl for the new loops.
Kernel stage_reduction(const Kernel& k, const std::vector<std::string>& inames,
                       const Match& within = {}, const std::string& base = {});

}  // namespace moonloop
