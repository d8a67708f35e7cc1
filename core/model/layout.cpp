#include "core/model/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "core/model/domain.h"

namespace moonloop {

std::string SamePlace::text(const std::string& array) const {
  return fmt::format("`{0}[{1}]` and `{0}[{2}]`", array, fmt::join(first, ", "),
                     fmt::join(second, ", "));
}

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

std::optional<SamePlace> same_place(const std::vector<std::int64_t>& shape,
                                    const std::vector<std::int64_t>& strides) {
  ensure(shape.size() == strides.size(), "a stride for each axis");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::nullopt;
  // Apart where each axis steps over all that those with smaller strides span.
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1) axes.emplace_back(std::abs(strides[i]), shape[i]);
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  bool nested = true;
  for (const auto& [stride, n] : axes) {
    nested = nested && stride >= span;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(stride, n - 1, &reach) || __builtin_add_overflow(span, reach, &span))
      return std::nullopt;  // more memory than there is
  }
  if (nested) return std::nullopt;
  // Differences of two subscripts whose elements share one place.
  std::string dims, bounds, sum = "0", other;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dims += fmt::format("{}d{}", i ? ", " : "", i);
    bounds += fmt::format("{} < d{} < {} and ", -shape[i], i, shape[i]);
    sum += fmt::format(" + {}*d{}", strides[i], i);
    other += fmt::format("{}(", i ? " or " : "");
    for (std::size_t before = 0; before < i; ++before) other += fmt::format("d{} = 0 and ", before);
    other += fmt::format("d{} > 0)", i);
  }
  const auto found = sample(Set(isl_set_read_from_str(
      isl(), fmt::format("{{ [{}] : {}{} = 0 and ({}) }}", dims, bounds, sum, other).c_str())));
  if (!found) return std::nullopt;
  SamePlace out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t d = found->dims.at(fmt::format("d{}", i));
    out.first.push_back(std::max<std::int64_t>(0, -d));
    out.second.push_back(std::max<std::int64_t>(0, d));
  }
  return out;
}

std::optional<SamePlace> same_place(const Exprs& shape, const Exprs& strides) {
  std::vector<std::int64_t> extents, steps;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto stride = as_int(strides.at(i));
    if (stride == 0 && as_int(shape[i]).value_or(2) > 1) {
      SamePlace out{std::vector<std::int64_t>(shape.size()),
                    std::vector<std::int64_t>(shape.size())};
      out.second[i] = 1;
      return out;
    }
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto stride = as_int(strides.at(i));
    if (!stride) return std::nullopt;
    const auto n = as_int(shape[i]);
    extents.push_back(n && *n != kUnknownExtent ? *n : 2);  // as short as one is that matters
    steps.push_back(*stride);
  }
  return same_place(extents, steps);
}

void check_strides(const Temporary& t) {
  if (!t.strides || !t.shape) return;
  if (t.strides->size() != t.shape->size())
    fail("bad-strides", t.at, "`{}` has {} axes and {} strides", t.name, t.shape->size(),
         t.strides->size());
  if (t.initializer) fail("bad-strides", t.at, "`{}` has values, which are side by side", t.name);
  const bool positive = std::all_of(t.strides->begin(), t.strides->end(),
                                    [](const Expr& s) { return as_int(s).value_or(-1) >= 0; });
  if (!positive || !span_of(*t.shape, *t.strides))
    fail("bad-strides", t.at,
         "temporary `{}` of shape ({}) has strides ({}); they take constants from 0 on", t.name,
         to_string(*t.shape), to_string(*t.strides));
  if (const auto same = same_place(*t.shape, *t.strides))
    fail("bad-strides", t.at, "strides ({}) put {} of shape ({}) in one place",
         to_string(*t.strides), same->text(t.name), to_string(*t.shape));
}

}  // namespace moonloop
