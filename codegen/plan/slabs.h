#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/sets/isl.h"

namespace moonloop {

/// `range`, the iterations { [iname] } of a loop over outer inames as parameters, cut so that the
/// first and the last ones are separate where slabs of `k` say so: convex sets in the order in
/// which they run, within `context`. An end that is one of several, as the last iteration of a tile
/// or of the whole, gives a set for each. Fails `unsupported` where they are not next to each
/// other.
std::vector<Set> slabs_of(const Kernel& k, const std::string& iname, const Set& range,
                          const Set& context);

}  // namespace moonloop
