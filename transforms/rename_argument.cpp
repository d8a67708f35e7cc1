#include "transforms/rename_argument.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/rewrite/parameters.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel rename_argument(const Kernel& k, const std::string& old_name, const std::string& new_name) {
  require_arg(k, old_name);
  if (old_name == new_name) return k;
  require_new_name(k, new_name);
  for (const Rule& r : k.rules)
    if (std::find(r.params.begin(), r.params.end(), new_name) != r.params.end())
      refuse("name-taken", r.at, "`{}` is a parameter of rule `{}`", new_name, r.name);
  return with_argument_renamed(k, old_name, new_name);
}

extern const Op rename_argument_op;
const Op rename_argument_op{
    .name = "rename_argument",
    .doc =
        R"(Renames an argument everywhere: in instructions, bounds, shapes, assumptions and claims.

The results are compared with those of the argument of the old name. Two arguments do not become one, as
`existing_ok` makes it in Loo.py: `fix_parameters` gives numbers their values, and arrays that are one
would depend on each other in other ways.

Refuses a name in use.)",
    .params = {{.name = "old_name",
                .kind = Kind::Str,
                .help = "the argument",
                .required = true,
                .positional = true},
               {.name = "new_name",
                .kind = Kind::Str,
                .help = "its new name",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel copy(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = a[i]
)",
    .example = R"(knl = lp.rename_argument(knl, "n", "length"))",
    .run = [](const Kernel& k,
              const Args& a) { return rename_argument(k, a.str("old_name"), a.str("new_name")); },
    .query = {},
};

}  // namespace moonloop
