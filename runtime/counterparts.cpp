#include "runtime/counterparts.h"

#include <algorithm>
#include <cstring>

#include "core/expr/evaluate.h"

namespace moonloop {
namespace {

/// The place of an element in `b`; null where it has no such element.
std::byte* place(const Buffer& b, const std::vector<std::int64_t>& index) {
  const Layout& l = b.layout();
  std::int64_t at = l.offset;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= l.shape[d]) return nullptr;
    at += index[d] * l.strides[d];
  }
  return static_cast<std::byte*>(b.data()) + at * l.type.size();
}

}  // namespace

void for_each_counterpart(const Buffer& part, const OriginalLayout& c, const Buffer& whole,
                          const std::function<void(std::byte* here, std::byte* there)>& visit) {
  const std::vector<std::int64_t>& shape = part.layout().shape;
  std::vector<std::int64_t> index(shape.size(), 0);
  Integers values;
  for (Cursor at(part); at; at.next()) {
    for (std::size_t d = 0; d < shape.size(); ++d) values[c.axes[d]] = index[d];
    const bool within = std::all_of(c.within.begin(), c.within.end(), [&](const auto& w) {
      return evaluate(w.first, values, "a subscript") < w.second;
    });
    std::vector<std::int64_t> there;
    for (const Expr& e : c.index) there.push_back(evaluate(e, values, "a subscript"));
    if (std::byte* other = within ? place(whole, there) : nullptr) visit(at.at(), other);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

const Buffer* put_together(Buffer& whole, const Kernel& k, const std::vector<Buffer>& arrays) {
  const Layout& l = whole.layout();
  for (const Buffer& b : arrays) {
    const Argument* a = k.find_arg(b.layout().name);
    if ((a->original_layout ? a->original_layout->of : a->name) != l.name) continue;
    const bool rank = !a->original_layout || a->original_layout->index.size() == l.shape.size();
    if (!(b.layout().type == l.type) || !rank) return &b;
    if (a->original_layout) {
      const auto size = static_cast<std::size_t>(l.type.size());
      for_each_counterpart(
          b, *a->original_layout, whole,
          [&](const std::byte* here, std::byte* there) { std::memcpy(there, here, size); });
    } else {
      if (b.layout().shape != l.shape) return &b;
      whole.copy_elements(b);
    }
  }
  return nullptr;
}

}  // namespace moonloop
