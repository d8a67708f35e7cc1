#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct RenameOptions {
  bool existing_ok = false;   // `new_iname` may exist: the loops become one
  bool preserve_tags = true;  // the new iname has the old one's tag
  /// When loops become one over different values: refuse; or run over those of both, instructions
  /// under conditions where they had fewer.
  bool raise_on_domain_mismatch = true;
  Match within = {};
  Proof proof = Proof::Made;
};

/// Renames a loop, or moves its instructions into another loop over the same values.
///
///     for i: b[i] = a[i]                                 for i: b[i] = a[i]
///     for j: c[j] = b[j]     with j renamed to i is             c[i] = b[i]
///
/// Refuses  unknown-iname; bad-name; name-taken (without `existing_ok`); no-match; shared-bound;
///          both-inames    an instruction is in both loops
///          other-values   the loops run over different values; names an instance that would be
///                         lost or new
///          two-tags       both inames have tags, different ones, and `preserve_tags` asks for both
///          cannot-nest    for a team's iname: where its statements, one after the other for all of
///                         the team, are not a loop, as the text of the result says
///          and all that check_legal refuses: loops that a dependence keeps apart
/// Cost     one walk over the instructions; isl once per set of inames that meets the old one
Kernel rename_iname(const Kernel& k, const std::string& old_iname, const std::string& new_iname,
                    const RenameOptions& o = {});

}  // namespace moonloop
