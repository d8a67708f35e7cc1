#include "transforms/iname_nesting.h"
#include "transforms/registry.h"

namespace moonloop {

extern const Op has_schedulable_iname_nesting_op;
const Op has_schedulable_iname_nesting_op{
    .name = "has_schedulable_iname_nesting",
    .doc = R"(Tells whether the loops of the kernel can be nested.

Where they cannot, `get_iname_duplication_options` gives steps that help.)",
    .params = {},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n, n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
a[i, j] = 1
)",
    .example = R"(assert(lp.has_schedulable_iname_nesting(knl)))",
    .run = {},
    .query = [](const Kernel& k, const Args&) { return Value{loops_nest(k)}; },
};

}  // namespace moonloop
