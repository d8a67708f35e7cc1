#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Scans: reductions whose terms grow from one iteration to the next.
namespace moonloop {

/// { [reduced] }: the terms of a reduction over `reduced` in the current instance of `insn` that no
/// earlier instance has, in the order of the inames `sweep` (outer first). All other inames around
/// `insn`, and `sweep`, are parameters. With an empty `sweep`, all terms.
///
/// Refuses `not-a-scan`, with two instances, where an instance lacks a term of an earlier one, and
/// where `ordered` and a new term comes before an old one.
Set new_terms(const Kernel& k, const Instruction& insn, const std::vector<std::string>& sweep,
              const std::vector<std::string>& reduced, bool ordered, const Span& at);

/// The least value of a work-item's iname, and how many there are from it to the greatest. Refuses
/// `unsupported` without constant bounds.
struct ItemRange {
  std::int64_t first = 0, count = 0;
};
ItemRange item_range(const Kernel& k, const std::string& item, const Span& at);

/// The values of a work-item's iname `item` in `insn`: from `first`, `count` of them, without gaps
/// in each iteration of the loops `outer` (of the sweep), and all of them in each but the last of
/// these. Refuses `not-a-scan` where that is not so, `unsupported` without a constant number.
struct ScanItems {
  std::int64_t first = 0, count = 0;
  Expr all;  // the condition that all are there
};
ScanItems scan_items(const Kernel& k, const Instruction& insn, const std::string& item,
                     const std::vector<std::string>& outer, const Span& at);

}  // namespace moonloop
