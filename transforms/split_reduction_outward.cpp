#include "transforms/registry.h"
#include "transforms/split_reduction.h"

// The work is done with split_reduction_inward.
namespace moonloop {

extern const Op split_reduction_outward_op;
const Op split_reduction_outward_op{
    .name = "split_reduction_outward",
    .doc =
        R"(Splits reductions so that `inames` are reduced over outside: sum((i, j), e) to sum(i, sum(j, e)).

Refuses inames that no reduction binds together with another one, reductions of two values, and where
other statements that run in these loops would change places.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "inames of the outer reduction",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "changes these instructions only",
                .positional = true}},
    .example_kernel = R"(kernel total(n: int32, a: float64[n], c: float64[4])
domain {[i]: 0 <= i < 4}
domain {[j, k]: 0 <= j < n and 0 <= k < 8}
c[i] = sum((j, k), a[j]*k)
)",
    .example = R"(knl = lp.split_reduction_outward(knl, "k"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return split_reduction_outward(k, a.names("inames"),
                                         Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
