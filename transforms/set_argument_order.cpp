#include "transforms/set_argument_order.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel set_argument_order(const Kernel& k, const std::vector<std::string>& names) {
  std::vector<Argument> args;
  std::set<std::string> named;
  for (const std::string& name : names) {
    require_arg(k, name);
    if (!named.insert(name).second)
      refuse("bad-order", k.at, "the argument `{}` is there twice", name);
    args.push_back(*k.find_arg(name));
  }
  for (const Argument& a : k.args)
    if (!named.contains(a.name))
      refuse("bad-order", a.at ? a.at : k.at, "the argument `{}` is missing", a.name);
  Kernel out = k;
  out.args = std::move(args);
  return out;
}

extern const Op set_argument_order_op;
const Op set_argument_order_op{
    .name = "set_argument_order",
    .doc = R"(Puts the arguments into another order, for the generated function.

Refuses a list that does not have each argument once.)",
    .params = {{.name = "args",
                .kind = Kind::Names,
                .help = "all arguments, the first one first",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel copy(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = a[i]
)",
    .example = R"(knl = lp.set_argument_order(knl, "b, a, n"))",
    .run = [](const Kernel& k, const Args& a) { return set_argument_order(k, a.names("args")); },
    .query = {},
};

}  // namespace moonloop
