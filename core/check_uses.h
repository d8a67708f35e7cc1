#pragma once
#include <memory>

#include "core/places.h"

namespace moonloop {

/// A check that is shown each use of a variable, and then asked for what it found. The kernel has
/// no rules, and types and shapes; it and the places outlive the check. One walk over the kernel,
/// and one set of places, serve all such checks.
class UseCheck {
 public:
  virtual ~UseCheck() = default;
  virtual void see(const Use& use) = 0;
  virtual void finish() {}
};

/// Refuses reads of temporaries that certainly find nothing written (`undefined-read`): a temporary
/// without any write; a read that stands before every write in statement order, in an iteration
/// that no write can precede; an element that no instance writes. Never refuses a legal kernel:
/// writes are over-approximated, and reads are judged only where their instances are exact.
std::unique_ptr<UseCheck> undefined_reads_check(const Kernel& k, Places& places);

/// Fails `rank-mismatch` where the number of subscripts is not that of axes, and `out-of-bounds`
/// when some affine subscript can leave its array under the kernel's domains, assumptions and
/// affine conditions, for some values of the parameters. Subscripts, shapes and bounds that depend
/// on data are not judged. Cost: isl once per different subscript, place and extent.
std::unique_ptr<UseCheck> bounds_check(const Kernel& k, Places& places);

/// Fails `rank-mismatch` unless the use has one subscript per axis, or a flat one.
void check_rank(const Use& use, std::size_t axes);

}  // namespace moonloop
