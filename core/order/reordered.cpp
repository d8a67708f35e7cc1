#include "core/order/reordered.h"

#include "core/order/reference.h"
#include "core/sets/budget.h"

namespace moonloop {

Kernel reordered(const Kernel& before, Kernel after, Proof proof) {
  Kernel out = keep_reference(before, std::move(after));
  if (proof == Proof::LeftOut) {
    require_distinct_axes(out);
    return out;
  }
  within_budget(before.at, "the order of instances is kept", [&] { out = proved(std::move(out)); });
  return out;
}

}  // namespace moonloop
