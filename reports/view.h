#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "runtime/evaluate.h"

namespace moonloop {

/// What a page shows of a kernel and of each step that made it, as one JSON object: kernel text,
/// loop tree, dependences, counts of all and of each statement, code for each target with the
/// instruction of each line, and, for statements in at most three loops, the instances at the sizes
/// `sizes` in the order of their execution, by the loops that they had at first. What cannot be had
/// is told in its place.
///
/// `original`: before the first of `k`'s transforms. `progress` hears of each step before it is
/// worked out. Fails as the transforms do.
/// Cost: all of that for each step; at most some hundred instances of a statement.
std::string view_data(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress = {});

/// The page: one file, with the data in it and nothing to fetch.
std::string view_page(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress = {});

}  // namespace moonloop
