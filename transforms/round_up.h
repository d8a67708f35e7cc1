#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Lengthens loops to whole blocks: with `multiples` = {i: 64}, a loop over values of i also runs
/// over all others that have the same i // 64 as one of its own. What runs in it runs for its own
/// values only, under a condition; but sums and other reductions also run for the others, whose
/// results nobody stores. They are computed before, into a temporary, and the arrays in their terms
/// are read through rules that give 0 beyond the loops' own values:
///
///     c[i] = 2*sum(k, a[i, k]*x[k])     with {i: 64, k: 8} becomes
///
///     a_read(i, k) := a[i, k] if i < n and k < m else 0;  x_read(k) := x[k] if k < m else 0
///     c_sum = sum(k, a_read(i, k)*x_read(k))
///     c[i] = 2*c_sum                      if i < n
///
/// so that blocks need no guards in the reduction once the loops are split by these multiples and
/// the rules precomputed.
///
/// Refuses  unknown-iname; bad-multiple (below 1); tagged-iname; unsupported (reductions of two
///          values, barriers in such a loop)
/// The order of evaluation becomes the kernel's meaning. Cost: isl for the domains, a few sets for
/// each reduction.
Kernel round_up(const Kernel& k, const std::map<std::string, std::int64_t>& multiples);

}  // namespace moonloop
