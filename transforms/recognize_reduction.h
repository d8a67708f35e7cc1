#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Makes an accumulation over loops a reduction, which may then run in any order:
///
///     for i: c[i] = 0                                becomes   for i: c[i] = sum(k, a[i, k])
///            for k: c[i] = c[i] + a[i, k]
///
/// Accumulations are `v = v + e`, `v = v*e`, `v = min(v, e)`, `max`, `v = v or e`, `v = v and e`,
/// with `v` in any position, and `v = e` under the condition `e < v` or `e > v`. The initial value
/// stays: `c[i] = c[i] + sum(k, …)`; an initialization in the same loops is taken in when nothing
/// comes between, and then a neutral one (0, 1, …) goes. An addend of a smaller type is converted
/// first, as the accumulation did. Conditions that depend on the loops become conditional addends:
/// where one does not hold, a sum gets 0 and a minimum the accumulator's first value.
///
/// \param inames  the loops to reduce over
/// \param within  the accumulations; by default all those in the loops, except where the
///                accumulator gets a first value in each iteration
/// Refuses  unknown-iname; no-inames, twice; no-match; not-accumulation (a selected instruction has
///          another form, or no instruction has this one); carried-target (its target depends
///          on the loops)
///          stale-value, not-proved   something else reads or writes the accumulator, or writes
///                         the addend's inputs, while the loops run; names two instances
///          and all that check_legal refuses
/// The new order of evaluation becomes the kernel's meaning.
Kernel recognize_reduction(const Kernel& k, const std::vector<std::string>& inames,
                           const Match& within = {});

}  // namespace moonloop
