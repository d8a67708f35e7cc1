#include "transforms/concatenate_arrays.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"
#include "transforms/temporary_axes.h"

namespace moonloop {
namespace {

void check_part(const Kernel& k, const std::string& name) {
  require_temporary(k, name);
  require_not_passed(k, name);
  require_no_flat_subscripts(k, name);
  require_plain_elements(k, *k.find_temporary(name), "it is not put together with others");
}

/// Refuses where the two cannot be parts of one array.
void check_alike(const Kernel& k, const Temporary& a, const Temporary& b, std::size_t axis) {
  const auto differ = [&](const std::string& what) {
    refuse("other-shape", b.at ? b.at : k.at, "`{}` and `{}` differ in {}", a.name, b.name, what);
  };
  if (a.type != b.type) differ("their types");
  if (a.space != b.space) differ("their memory");
  if (a.order != b.order) differ("the order of their axes");
  if (a.shape->size() != b.shape->size()) differ("the number of their axes");
  for (std::size_t n = 0; n < a.shape->size(); ++n)
    if (n != axis && !equal((*a.shape)[n], (*b.shape)[n]))
      differ(fmt::format("axis {}: `{}` and `{}`", n, to_string((*a.shape)[n]),
                         to_string((*b.shape)[n])));
}

}  // namespace

Kernel concatenate_arrays(const Kernel& k, const std::vector<std::string>& names,
                          const std::string& new_name, std::int64_t axis) {
  if (names.size() < 2) refuse("no-match", k.at, "two temporaries or more are put together");
  const Kernel own = rebase(proved(infer_shapes(infer_types(k))));
  std::set<std::string> all;
  for (const std::string& name : names) {
    check_part(own, name);
    if (!all.insert(name).second) refuse("twice", k.at, "`{}` occurs twice", name);
  }
  require_identifier(new_name, k.at);
  if (!all.contains(new_name) && own.has_name(new_name))
    refuse("name-taken", k.at, "`{}` is the name of something else", new_name);
  const Temporary& first = *own.find_temporary(names[0]);
  if (axis < 0 || axis >= static_cast<std::int64_t>(first.shape->size()))
    refuse("bad-axis", k.at, "`{}` has no axis {}; it has {}, counted from 0", names[0], axis,
           first.shape->size());
  const auto along = static_cast<std::size_t>(axis);
  std::map<std::string, Expr> begins;
  Expr length = lit(0);
  for (const std::string& name : names) {
    const Temporary& t = *own.find_temporary(name);
    check_alike(own, first, t, along);
    begins[name] = length;
    length = index_add({length, (*t.shape)[along]});
  }
  Kernel out = map_expressions(without_rules_on(own, all), [&](const Instruction&, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l || !all.contains(l->array)) return x;
      Exprs index = l->index;
      index.at(along) = index_add({index.at(along), begins.at(l->array)});
      return load(new_name, std::move(index), x.at());
    });
  });
  Temporary whole = first;
  whole.name = new_name;
  whole.shape->at(along) = length;
  for (const std::string& name : names) out.temporaries.erase(name);
  out.temporaries.emplace(new_name, std::move(whole));
  return proved(std::move(out));
}

extern const Op concatenate_arrays_op;
const Op concatenate_arrays_op{
    .name = "concatenate_arrays",
    .doc = R"(Puts temporaries one behind the other into one, along an axis.

Refuses temporaries that differ in type, memory, order or the extent of another axis, and those with
initial values, strides, memory that they share or flat subscripts.)",
    .params = {{.name = "array_names",
                .kind = Kind::Names,
                .help = "the temporaries, in their order in the new one",
                .required = true,
                .positional = true},
               {.name = "new_name",
                .kind = Kind::Str,
                .help = "the name of the new one, which may be that of one of them",
                .required = true,
                .positional = true},
               {.name = "axis_nr",
                .kind = Kind::Int,
                .help = "the axis along which they follow one another",
                .fallback = "0",
                .positional = true}},
    .example_kernel = R"(kernel both(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
temp t: float64[n]
temp u: float64[n]
t[i] = a[i]
u[i] = 2*a[i]
b[i] = t[i]*u[n - i - 1]
)",
    .example = R"(knl = lp.concatenate_arrays(knl, {"t", "u"}, "tu")
assert(#knl.temporaries == 1))",
    .run =
        [](const Kernel& k, const Args& a) {
          return concatenate_arrays(k, a.names("array_names"), a.str("new_name"),
                                    a.integer("axis_nr"));
        },
    .query = {},
};

}  // namespace moonloop
