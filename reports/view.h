#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/expr/evaluate.h"
#include "core/model/kernel.h"

namespace moonloop {

/// The content of a page about a kernel and of each step that made it, as one JSON object: kernel
/// text, loop tree, dependences, counts of all and of each statement, code for each target with the
/// instruction of each line, and, for statements in at most three loops, the instances at the sizes
/// `sizes` in the order of their execution, by the loops that they had at first. Failures are
/// reported inline.
///
/// `original`: the kernel before the first of `k`'s transforms. `progress` is called for each step
/// before it is computed. Fails as the transforms do. Cost: all of that for each step; at most some
/// hundred instances of a statement.
std::string view_data(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress = {});

/// The page: one file, with the data in it and nothing to fetch.
std::string view_page(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress = {});

}  // namespace moonloop
