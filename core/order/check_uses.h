#pragma once
#include <memory>

#include "core/infer/program_points.h"

namespace moonloop {

/// A check that sees each use of a variable, and then reports what it found. The kernel has types
/// and shapes, and no rules; it and the points outlive the check. One walk over the kernel, and one
/// set of points, serve all such checks.
class UseCheck {
 public:
  virtual ~UseCheck() = default;
  virtual void see(const Use& use) = 0;
  virtual void finish() {}
};

/// Refuses reads of temporaries that certainly find nothing written (`undefined-read`): a temporary
/// without any write; a read before every write in statement order, in an iteration that no write
/// can precede; an element that no instance writes. Never refuses a legal kernel: writes are
/// over-approximated, and reads are judged only where their instances are exact. `elements_known`:
/// every element read is known to be written, and isl is not queried.
std::unique_ptr<UseCheck> undefined_reads_check(const Kernel& k, ProgramPoints& points,
                                                bool elements_known);

/// Fails `rank-mismatch` where the number of subscripts is not that of axes, and `out-of-bounds`
/// when some affine subscript can leave its array under the kernel's domains, assumptions and
/// affine conditions, for some values of the parameters. Subscripts, shapes and bounds that depend
/// on data are not judged, nor are those that take isl too long. Cost: isl once per different
/// subscript, point and extent; none where the subscripts are known to be `within` their arrays.
std::unique_ptr<UseCheck> bounds_check(const Kernel& k, ProgramPoints& points, bool within);

/// Whether the accesses of `k`, which has no rules, pass both checks because those of its reference
/// do. The instances of the two correspond one to one, so an access whose subscripts and conditions
/// are those of the reference, origins put in, touches the same elements; the reference's loops
/// have not been split up by steps, and cost isl far less. False where there is no reference, where
/// some access differs from the reference's, and where a check of these fails or takes too long:
/// `k` itself has to be checked then.
bool pass_as_in_reference(const Kernel& k);

}  // namespace moonloop
