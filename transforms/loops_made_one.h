#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// `k` after rename_iname with `existing_ok` of each of `loops`, a loop and the one that it joins,
/// one after the other and without the proof of the order: where that is mere renaming, all at
/// once.
///
///     for i:   x[i] = i
///     for i_0: y[i_0] = x[i_0]      with (i_0, i), (i_1, i) is      for i: x[i] = i
///     for i_1: z[i_1] = y[i_1]                                             y[i] = x[i]
///                                                                          z[i] = y[i]
///
/// Nothing where a loop is over other values than the one that it joins, its iname has a tag, or
/// rules, slabs, priorities or reductions use it: rename_iname then says what comes of it.
/// Cost: one walk over the instructions, domains and loops; no question to isl.
std::optional<Kernel> loops_made_one(const Kernel& k,
                                     const std::vector<std::pair<std::string, std::string>>& loops);

}  // namespace moonloop
