#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// The end of each transform that only reorders: `after` with the reference of `before`, proved
/// legal unless a `WithoutProof` lives.
Kernel reordered(const Kernel& before, Kernel after);

/// While one lives, this thread's transforms that only reorder leave their proof out: what the
/// option `unsafe` does. The one who makes it must rebase the result and add the claim.
class WithoutProof {
 public:
  WithoutProof();
  ~WithoutProof();
  WithoutProof(const WithoutProof&) = delete;
  WithoutProof& operator=(const WithoutProof&) = delete;
  static bool active();

 private:
  bool before_;
};

}  // namespace moonloop
