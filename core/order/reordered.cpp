#include "core/order/reordered.h"

#include "core/order/reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

thread_local bool proofs_left_out = false;

}  // namespace

Kernel reordered(const Kernel& before, Kernel after) {
  Kernel out = keep_reference(before, std::move(after));
  if (proofs_left_out) {
    require_distinct_axes(out);
    return out;
  }
  within_budget(before.at, "the order of instances is kept", [&] { out = proved(std::move(out)); });
  return out;
}

WithoutProof::WithoutProof() : before_(proofs_left_out) { proofs_left_out = true; }
WithoutProof::~WithoutProof() { proofs_left_out = before_; }
bool WithoutProof::active() { return proofs_left_out; }

}  // namespace moonloop
