#include "core/layout.h"

#include <algorithm>

namespace moonloop {

Exprs strides_of(const Exprs& shape, Order order, const std::optional<Exprs>& declared) {
  if (declared) return *declared;
  Exprs out(shape.size());
  Expr so_far = lit(1);
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const std::size_t axis = order == Order::C ? shape.size() - 1 - n : n;
    out[axis] = so_far;
    so_far = index_mul(shape[axis], so_far);
  }
  return out;
}

Expr rounded_up(const Expr& e, std::int64_t n) {
  if (n == 1) return e;
  if (const auto v = as_int(e)) return lit((*v + n - 1) / n * n);
  return index_mul(lit(n), Expr(Binary{BinaryOp::FloorDiv, index_add({e, lit(n - 1)}), lit(n)}));
}

std::optional<std::int64_t> span_of(const Exprs& shape, const Exprs& strides) {
  std::int64_t last = 0;  // the number of the last element
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto n = as_int(shape[i]), stride = as_int(strides.at(i));
    std::int64_t reach = 0;
    if (!n || !stride || __builtin_mul_overflow(*n - 1, *stride, &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
    empty = empty || *n == 0;
  }
  return empty ? 0 : last + 1;
}

void check_strides(const Temporary& t) {
  if (!t.strides || !t.shape) return;
  if (t.strides->size() != t.shape->size())
    fail("bad-strides", t.at, "`{}` has {} axes and {} strides", t.name, t.shape->size(),
         t.strides->size());
  if (t.initializer) fail("bad-strides", t.at, "`{}` has values, which stand side by side", t.name);
  if (!span_of(*t.shape, *t.strides))
    fail("bad-strides", t.at, "temporary `{}` of shape ({}) has strides ({}); they take constants",
         t.name, to_string(*t.shape), to_string(*t.strides));
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  for (std::size_t i = 0; i < t.shape->size(); ++i)
    if (const std::int64_t n = as_int((*t.shape)[i]).value(); n > 1)
      axes.emplace_back(as_int((*t.strides)[i]).value(), n);
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto& [stride, n] : axes) {
    if (stride < span)
      fail("bad-strides", t.at,
           "strides ({}) put several elements of `{}` of shape ({}) in a place",
           to_string(*t.strides), t.name, to_string(*t.shape));
    span += stride * (n - 1);
  }
}

}  // namespace moonloop
