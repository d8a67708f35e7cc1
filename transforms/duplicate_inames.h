#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct DuplicateOptions {
  std::vector<std::string> new_inames = {};  // one for each iname; empty: free names from `suffix`
  std::string suffix = {};
  std::vector<std::pair<std::string, std::string>> tags =
      {};  // by old iname: the tag of the new one
  Proof proof = Proof::Made;
};

/// Gives some instructions loops of their own over the same values.
///
///     for i: b[i] = a[i]                              for i: b[i] = a[i]
///            c[i] = b[i]    with `i` duplicated is    for i_0: c[i_0] = b[i_0]
///
/// Inames with bounds in one domain get one new domain between them.
///
/// \param within  the instructions that move to the new loops
/// Refuses  unknown-iname; no-match; name-count (`new_inames` is not as long as `inames`);
/// bad-name,
///          name-taken; bad-tag; twice; shared-bound; axis-taken; and all that check_legal refuses
/// Cost     one walk over the instructions per domain concerned
Kernel duplicate_inames(const Kernel& k, const std::vector<std::string>& inames,
                        const Match& within, const DuplicateOptions& o = {});

}  // namespace moonloop
