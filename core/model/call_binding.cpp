#include "core/model/call_binding.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "core/model/layout.h"

namespace moonloop {

std::optional<Exprs> strides_in(const Kernel& k, const std::string& array) {
  if (const Temporary* t = k.find_temporary(array))
    return t->shape ? std::optional(strides_of(*t->shape, t->order, t->strides)) : std::nullopt;
  const Argument* a = k.find_arg(array);
  if (a && a->is_array && a->strides) return *a->strides;
  if (!a || !a->is_array || !a->shape) return std::nullopt;
  return strides_of(*a->shape, a->order, a->strides);
}

bool steps_alike(const Expr& a, const Expr& b) {
  return equal(a, b) || as_int(index_sub(a, b)) == 0;
}

namespace {

/// The axes of `whole` that step as those of `part` do, each once.
std::optional<std::vector<int>> matching_axes(const Exprs& part, const Exprs& whole) {
  std::vector<int> out;
  for (const Expr& p : part) {
    int found = -1;
    for (std::size_t i = 0; i < whole.size() && found < 0; ++i) {
      const int axis = static_cast<int>(i);
      if (std::find(out.begin(), out.end(), axis) == out.end() && steps_alike(p, whole[i]))
        found = axis;
    }
    if (found < 0) return std::nullopt;
    out.push_back(found);
  }
  return out;
}

}  // namespace

CallBinding bind_call(const Call& c, const Kernel& callee, const StridesOf& strides) {
  ensure(c.args.size() == callee.args.size(), "an argument for each of the callee's");
  CallBinding out;
  for (std::size_t i = 0; i < c.args.size(); ++i)
    if (!callee.args[i].is_array) out.scalars.emplace(callee.args[i].name, c.args[i]);
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    BoundArgument b;
    b.to = &callee.args[i];
    const Exprs* address = as_address(c.args[i]);
    if (!address) {
      b.value = c.args[i];
      out.all.push_back(std::move(b));
      continue;
    }
    b.array = address->front().as<Var>()->name;
    b.base.assign(address->begin() + 1, address->end());
    if (const std::optional<Exprs> whole = strides(b.array)) {
      if (b.base.empty()) b.base.assign(whole->size(), lit(0));
      Exprs part = strides_of(b.to->shape.value(), b.to->order, b.to->strides);
      for (Expr& e : part) e = index_add({substitute(e, out.scalars)});
      b.axes = matching_axes(part, *whole);
    }
    out.all.push_back(std::move(b));
  }
  return out;
}

CallBinding bind_call(const Kernel& k, const Call& c, const Kernel& callee) {
  return bind_call(c, callee, [&](const std::string& a) { return strides_in(k, a); });
}

}  // namespace moonloop
