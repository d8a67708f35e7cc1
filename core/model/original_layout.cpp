#include "core/model/original_layout.h"

namespace moonloop {

OriginalLayout original_layout_of(const Argument& a, std::size_t rank) {
  if (a.original_layout) return *a.original_layout;
  OriginalLayout out{a.name, {}, {}, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    out.axes.push_back("axis" + std::to_string(i));
    out.index.push_back(var(out.axes.back()));
  }
  return out;
}

OriginalLayout with_axis(const OriginalLayout& c, std::size_t axis, const Expr& value,
                         const std::vector<std::string>& fresh,
                         const std::optional<std::int64_t>& extent) {
  OriginalLayout out = c;
  for (Expr& e : out.index) e = substitute(e, {{c.axes[axis], value}});
  for (auto& [e, bound] : out.within) e = substitute(e, {{c.axes[axis], value}});
  if (extent) out.within.emplace_back(value, *extent);
  const auto at = out.axes.begin() + static_cast<std::ptrdiff_t>(axis);
  out.axes.insert(out.axes.erase(at), fresh.begin(), fresh.end());
  return out;
}

}  // namespace moonloop
