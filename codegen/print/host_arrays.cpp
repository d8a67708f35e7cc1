#include "codegen/print/host_arrays.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/layout.h"

namespace moonloop {

Expr host_elements(const Parameter& a, const Kernel& kernel) {
  if (a.offset || a.strides.size() != a.shape.size())
    fail("unsupported", kernel.at, "`{}` has no extents by which it could be copied", a.name);
  const auto same = [](const Exprs& x, const Exprs& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Expr& p, const Expr& q) { return equal(p, q); });
  };
  Expr all = lit(1), last = lit(0);
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    all = index_mul(all, a.shape[i]);
    last = index_add({last, index_mul(index_sub(a.shape[i], lit(1)), a.strides[i])});
  }
  // Strides are positive, or the array would have an offset.
  const bool dense = same(a.strides, strides_of(a.shape, Order::C, std::nullopt)) ||
                     same(a.strides, strides_of(a.shape, Order::F, std::nullopt));
  return dense ? all : index_add({last, lit(1)});
}

}  // namespace moonloop
