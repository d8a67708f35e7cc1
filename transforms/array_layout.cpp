#include "transforms/array_layout.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/layout.h"

namespace moonloop {
namespace {

bool same(const Exprs& a, const Exprs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

/// `what` is an Argument or a Temporary.
template <class T>
void set(T& what, const Exprs& shape, const Exprs& strides) {
  what.shape = shape;
  what.order = same(strides, strides_of(shape, Order::F, {})) ? Order::F : Order::C;
  what.strides.reset();
  if (!same(strides, strides_of(shape, what.order, {}))) what.strides = strides;
  if (same(strides, strides_of(shape, Order::C, {}))) what.order = Order::C;
}

}  // namespace

ArrayLayout layout_of(const Kernel& k, const std::string& name) {
  require_not_passed(k, name);
  const Kernel full = infer_shapes(infer_types(k));
  const auto made = [&](const auto& x) {
    return ArrayLayout{x.type.value(), *x.shape, strides_of(*x.shape, x.order, x.strides)};
  };
  if (const Argument* a = full.find_arg(name); a && a->is_array) return made(*a);
  if (const Temporary* t = full.find_temporary(name); t && !t->shape->empty()) return made(*t);
  std::vector<std::string> all;
  for (const Argument& a : full.args)
    if (a.is_array) all.push_back(a.name);
  for (const auto& [n, t] : full.temporaries)
    if (!t.shape->empty()) all.push_back(n);
  refuse_for(name, "unknown-array", k.at, "no array `{}` in kernel `{}`; it has {}{}", name, k.name,
             all.empty() ? "none" : quoted_list(all), did_you_mean(name, all));
}

void set_layout(Kernel& k, const std::string& name, const Exprs& shape, const Exprs& strides) {
  if (!same(layout_of(k, name).strides, strides)) require_no_flat_subscripts(k, name);
  for (Argument& a : k.args) {
    if (a.name != name) continue;
    if (const auto same_two = same_place(shape, strides))
      refuse("bad-strides", a.at ? a.at : k.at, "strides ({}) put {} of shape ({}) in one place",
             to_string(strides), same_two->text(name), to_string(shape));
    return set(a, shape, strides);
  }
  Temporary& t = k.temporaries.at(name);
  set(t, shape, strides);
  if (t.strides && !span_of(shape, strides))
    refuse(
        "bad-strides", t.at ? t.at : k.at,
        "temporary `{}` of shape ({}) would have strides ({}); those of a temporary are constants",
        name, to_string(shape), to_string(strides));
  check_strides(t);
}

Kernel without_rules_on(const Kernel& k, const std::set<std::string>& names) {
  for (const Rule& r : k.rules) {
    std::set<std::string> used;
    collect_reads(r.body, used);
    if (std::any_of(names.begin(), names.end(), [&](const auto& n) { return used.count(n) > 0; }))
      return expand_all_rules(k);
  }
  return k;
}

}  // namespace moonloop
