#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// The caller vouches that different subscripts of each of these one-dimensional arrays give
/// different values, so that `a[map[i]]` touches different elements of `a` in different iterations.
/// The claim is listed in the trace.
///
/// Refuses  unknown-array; no-inames (none given); not-integer; bad-rank (not one axis);
///          written-array (some instruction writes it: then the claim says nothing)
Kernel assume_injective(const Kernel& k, const std::vector<std::string>& arrays);

/// The caller vouches that the accesses to each of these arrays whose subscripts are not affine
/// touch different elements in different instances, and none that an affine one touches. The claim
/// is listed in the trace.
///
/// Refuses  unknown-array
Kernel assume_disjoint(const Kernel& k, const std::vector<std::string>& arrays);

}  // namespace moonloop
