#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct SplitOptions {
  std::string outer_iname = {};                // empty: `<iname>_outer`
  std::string inner_iname = {};                // empty: `<iname>_inner`
  std::string outer_tag = {}, inner_tag = {};  // empty: none
  std::pair<std::int64_t, std::int64_t> slabs{0, 0};
  bool do_tagged_check = true;
  Match within = {};
  Proof proof = Proof::Made;
};

/// Splits a loop into an outer one and an inner one of fixed length.
///
///     for i: c[i] = a[i]   becomes   for i_outer: for i_inner: c[4*i_outer + i_inner] = …
///
/// `i = inner_length*outer + inner` with `0 <= inner < inner_length`: the origin is 0, not the
/// loop's lower bound, so any bounds and strides work. The parts take the place of `iname`.
///
/// \param inner_length  at least 1
/// \param slabs         how many outer iterations at the start and the end are generated separately
/// \param within        only these instructions; the others keep the loop as it was
/// Refuses  unknown-iname; bad-length; bad-slabs; tagged-iname (unless `do_tagged_check` is off:
///          the tag is dropped); bad-name, name-taken; bad-tag; no-match; swept-iname;
///          shared-bound; axis-taken; and all that check_legal refuses
/// Cost     one walk over the instructions, isl for one domain and those below it
Kernel split_iname(const Kernel& k, const std::string& iname, std::int64_t inner_length,
                   const SplitOptions& o = {});

}  // namespace moonloop
