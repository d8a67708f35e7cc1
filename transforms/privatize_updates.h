#pragma once
#include <string>
#include <vector>

#include "transforms/buffer_array.h"

namespace moonloop {

struct PrivatizeOptions {
  Match within;  // everything: what accesses the arrays inside of one of the inames
  std::optional<std::string> default_tag;
  std::string temporary_name;  // `<array>_own`; for one array
  AddressSpace temporary_scope = AddressSpace::Auto;
  bool last = false;  // the copy holds the element that was updated last
  Span at;
  Proof proof = Proof::Made;
};

/// Lets updates of arrays work on copies, each of which is added to the array once.
///
///     for g, in parallel: for i: c[d[g, i]] = c[d[g, i]] + x[g, i]   (atomic)
///
/// becomes, with `i` as iname,
///
///     for g, in parallel:
///       for k: c_own[k] = 0
///       for i: c_own[d[g, i]] = c_own[d[g, i]] + x[g, i]
///       for k: if c_own[k] != 0: c[k] = c[k] + c_own[k]              (atomic)
///
/// There is a copy for each iteration of the loops around all updates that are not in `inames`. It
/// begins at the neutral element of the operation and holds the box around what is updated; an axis
/// with a subscript that is computed from data is held as a whole. Elements that no update changes
/// are left alone.
///
/// With `last`, the copy is one number, which is added to the array where the subscripts change:
///
///     c_own = 0;  c_at = 0
///     for i:
///       c_next = d[g, i]
///       if c_at != c_next and c_own != 0: c[c_at] = c[c_at] + c_own    (atomic)
///       if c_at != c_next: c_own = 0
///       c_at = c_next
///       c_own = c_own + x[g, i]
///     if c_own != 0: c[c_at] = c[c_at] + c_own                         (atomic)
///
/// Refuses  unknown-array, unknown-iname; no-match; unused-sweep; not-an-update (an access of
/// another kind inside
///          of the inames); no-neutral-element; mixed-updates (of two operations); name-taken;
///          stale-value, not-proved (another instruction uses the array in between); and as
///          buffer_array does
/// Cost     as buffer_array
/// Source   privatization of histograms, as in Gómez-Luna et al., "An optimized approach to
///          histogram computation on GPU" (2013)
Kernel privatize_updates(const Kernel& k, const std::vector<std::string>& arrays,
                         const std::vector<std::string>& inames, const PrivatizeOptions& o);

}  // namespace moonloop
