#include "codegen/plan/array_places.h"

#include "codegen/plan/alignment.h"
#include "core/model/layout.h"

namespace moonloop {

std::optional<ArrayPlaces> places_in(const Plan& plan, const Load& l) {
  const Argument* a = plan.kernel.find_arg(l.array);
  const Temporary* t = plan.kernel.find_temporary(l.array);
  const bool shared = t && !t->read_only && plan.spaces.count(t->name) &&
                      !plan.lies_in(t->name, AddressSpace::Private);
  if ((!a || a->constant) && !shared) return std::nullopt;
  const Exprs shape = (a ? a->shape : t->shape).value_or(Exprs{});
  return ArrayPlaces{l.linear ? Exprs{lit(1)}
                     : a      ? strides_of(shape, a->order, a->strides)
                              : strides_of(shape, t->order, t->strides),
                     a && a->offset ? a->offset : lit(0)};
}

std::optional<std::int64_t> ArrayPlaces::step(const Load& l, const std::string& iname) const {
  std::int64_t step = 0;
  for (std::size_t i = 0; i < l.index.size(); ++i) {
    const auto along = step_along(l.index[i], iname);
    const auto stride = as_int(strides[i]);
    if (!along || (*along != 0 && !stride)) return std::nullopt;
    if (*along != 0) step += *along * *stride;
  }
  return step;
}

Expr ArrayPlaces::place(const Load& l) const {
  Expr out = offset;
  for (std::size_t i = 0; i < l.index.size(); ++i)
    out = index_add({out, index_mul(strides[i], l.index[i])});
  return out;
}

}  // namespace moonloop
