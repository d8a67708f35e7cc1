#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct ChunkOptions {
  std::string outer_iname = {}, inner_iname = {};  // empty: `i_outer`, `i_inner`
  std::string outer_tag = {}, inner_tag = {};
  bool do_tagged_check = true;
  Match within = {};
  Proof proof = Proof::Made;
};

/// Splits a loop into a fixed number of pieces of the same length, or of two lengths that differ by
/// one, the longer ones first.
///
///     for i < 10: a[i] = 0   in 3: 4, 3 and 3 iterations
///
/// Refuses  unknown-iname; bad-length (less than one piece, or more than 1000); tagged-iname;
///          unbounded-iname (no first or no last iteration as one expression of the parameters and
///          of slower inames); not-inside (a statement is not in one of these); bad-name,
///          name-taken; bad-tag; no-match; shared-bound; axis-taken; and all that check_legal
///          refuses
/// Cost     one walk over the instructions, two parametric extrema, a set of as many pieces
Kernel chunk_iname(const Kernel& k, const std::string& iname, std::int64_t num_chunks,
                   const ChunkOptions& o = {});

}  // namespace moonloop
