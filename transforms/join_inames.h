#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct JoinOptions {
  std::string new_iname = {};  // empty: `i_and_j`
  std::string tag = {};
  Match within = {};
  Proof proof = Proof::Made;
};

/// Makes one loop of several, the last of which is the fastest; the inverse of split_iname.
///
///     for i: for j < 8: c[i, j] = 0   becomes   for i_and_j: c[i_and_j // 8, i_and_j % 8] = 0
///
/// Lower bounds are taken off first. All but the first need a constant extent, counted from their
/// lower bound over parameters or, when there is none, over the inames before them in the list (so
/// that bands such as `i <= j < i + 4` work); gaps in the box stay gaps in the new loop's domain.
///
/// Refuses  unknown-iname; too-few (less than two); twice; no-common-domain (their bounds are in
///          several domains); no-constant-extent; unbounded-iname; some-not-all, partial-reduction
///          (an instruction or a reduction has some of the inames only); bad-name, name-taken;
///          bad-tag; no-match; shared-bound; axis-taken; and all that check_legal refuses
/// Cost     one walk over the instructions, a parametric minimum and a maximum per iname
Kernel join_inames(const Kernel& k, const std::vector<std::string>& inames,
                   const JoinOptions& o = {});

}  // namespace moonloop
