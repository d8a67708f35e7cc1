#include "core/layout.h"

#include <algorithm>
#include <cstdlib>

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

bool overlaps(const Exprs& shape, const Exprs& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  bool known = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto n = as_int(shape[i]), stride = as_int(strides.at(i));
    if (n && *n <= 1) continue;
    if (stride == 0) return true;
    known = known && n && stride;
    if (n && stride) axes.emplace_back(std::abs(*stride), *n);
  }
  if (!known) return false;
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto& [stride, n] : axes) {
    if (stride < span) return true;
    span += stride * (n - 1);
  }
  return false;
}

void check_strides(const Temporary& t) {
  if (!t.strides || !t.shape) return;
  if (t.strides->size() != t.shape->size())
    fail("bad-strides", t.at, "`{}` has {} axes and {} strides", t.name, t.shape->size(),
         t.strides->size());
  if (t.initializer) fail("bad-strides", t.at, "`{}` has values, which stand side by side", t.name);
  const bool positive = std::all_of(t.strides->begin(), t.strides->end(),
                                    [](const Expr& s) { return as_int(s).value_or(-1) >= 0; });
  if (!positive || !span_of(*t.shape, *t.strides))
    fail("bad-strides", t.at,
         "temporary `{}` of shape ({}) has strides ({}); they take constants from 0 on", t.name,
         to_string(*t.shape), to_string(*t.strides));
  if (overlaps(*t.shape, *t.strides))
    fail("bad-strides", t.at, "strides ({}) put several elements of `{}` of shape ({}) in a place",
         to_string(*t.strides), t.name, to_string(*t.shape));
}

}  // namespace moonloop
