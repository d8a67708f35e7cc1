#include "transforms/iname_nesting.h"
#include "transforms/registry.h"

namespace moonloop {

extern const Op get_iname_duplication_options_op;
const Op get_iname_duplication_options_op{
    .name = "get_iname_duplication_options",
    .doc = R"(Gives the steps `duplicate_inames` that help where loops cannot be nested.

Each is a table with `inames` and `within`, the arguments of `duplicate_inames`. Those after which the
loops nest come first; the others leave fewer pairs of loops that cross. The list is empty where the
loops nest.)",
    .params = {},
    .example_kernel = R"(kernel two(n: int32, a: float64[n, n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i, j] = 1   {id=both}
b[i] = 2      {id=row}
c[j] = 3      {id=column}
)",
    .example = R"(assert(not lp.has_schedulable_iname_nesting(knl))
local step = lp.get_iname_duplication_options(knl)[1]
knl = lp.duplicate_inames(knl, step.inames, step.within)
assert(lp.has_schedulable_iname_nesting(knl)))",
    .run = {},
    .query =
        [](const Kernel& k, const Args&) {
          ValueList out;
          for (const Duplication& d : iname_duplications(k)) {
            ValueDict step;
            step.emplace_back("inames", Value{ValueList{Value{d.iname}}});
            step.emplace_back("within", Value{d.within()});
            out.push_back(Value{std::move(step)});
          }
          return Value{std::move(out)};
        },
};

}  // namespace moonloop
