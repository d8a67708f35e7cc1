#include "transforms/fold_storage.h"

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/lookup.h"
#include "core/order/folded_storage.h"
#include "core/order/order_reference.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"
#include "transforms/temporary_axes.h"

namespace moonloop {
namespace {

void check_temporary(const Kernel& k, const std::string& name, std::int64_t axis) {
  require_temporary(k, name);
  require_not_passed(k, name);
  require_no_flat_subscripts(k, name);
  const Temporary& t = *k.find_temporary(name);
  const auto axes = static_cast<std::int64_t>(t.shape->size());
  if (axis < 0 || axis >= axes)
    refuse("bad-axis", k.at, "`{}` has no axis {}; it has {}, counted from 0", name, axis, axes);
  require_plain_elements(k, t, "its axes are not folded");
}

}  // namespace

Kernel fold_storage(const Kernel& k, const std::vector<std::string>& names, std::int64_t axis,
                    std::int64_t count) {
  if (count < 1) refuse("bad-count", k.at, "an axis is not folded to {}", count);
  const Kernel own = rebase(infer_shapes(infer_types(k)));
  for (const std::string& name : names) check_temporary(own, name, axis);
  for (const std::string& name : names)
    check_folded(own, name, static_cast<std::size_t>(axis), count);
  const std::set<std::string> all(names.begin(), names.end());
  Kernel out = map_expressions(without_rules_on(own, all), [&](const Instruction&, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l || !all.contains(l->array)) return x;
      Exprs index = l->index;
      Expr& i = index.at(static_cast<std::size_t>(axis));
      i = Expr(Binary{BinaryOp::Mod, i, lit(count)});
      return load(l->array, std::move(index), x.at());
    });
  });
  for (const std::string& name : names)
    out.temporaries.at(name).shape->at(static_cast<std::size_t>(axis)) = lit(count);
  return proved(rebase(std::move(out)));
}

extern const Op fold_storage_op;
const Op fold_storage_op{
    .name = "fold_storage",
    .doc =
        R"(Lets elements of temporaries that are `count` apart along an axis share memory: `i` becomes `i % count`.

Of a temporary that holds something for each iteration of a loop, only what the last few of them
wrote is kept.

Refuses temporaries with initial values, strides, memory that they share or flat subscripts, an axis
that is not there, subscripts along it that are not affine, and elements of which one is written while the value of
another is still needed, with the two instances.)",
    .params = {{.name = "names",
                .kind = Kind::Names,
                .help = "the temporaries",
                .required = true,
                .positional = true},
               {.name = "axis_nr",
                .kind = Kind::Int,
                .help = "the axis, counted from 0",
                .required = true,
                .positional = true},
               {.name = "count",
                .kind = Kind::Int,
                .help = "how many elements along it are kept",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel differences(n: int32, a: float32[n], b: float32[n])
domain {[k]: 1 <= k < n}
temp t: float32[n]
t[0] = a[0]  {id=first}
t[k] = a[k]  {id=next, dep=first}
b[k] = t[k] - t[k - 1]  {dep=next}
)",
    .example = R"(knl = lp.fold_storage(knl, "t", 0, 2)
assert(tostring(knl):find("temp t: float32[2]", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return fold_storage(k, a.names("names"), a.integer("axis_nr"), a.integer("count"));
        },
    .query = {},
};

}  // namespace moonloop
