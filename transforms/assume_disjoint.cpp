#include "transforms/assume_injective.h"
#include "transforms/registry.h"

// The work is done with assume_injective.
namespace moonloop {

extern const Op assume_disjoint_op;
const Op assume_disjoint_op{
    .name = "assume_disjoint",
    .doc =
        R"(Vouches that accesses to these arrays through subscripts that are not affine never meet.

One subscript with other values of its inames then names another element, and two different subscripts
never name the same. Loops whose inames a subscript does not have come to its element again and again,
and what it reads of a temporary is one value in each iteration of the loops that write that. Where one
of two subscripts reads a copy of what the other one reads, nothing is known of the two.
The claim is not checked; `show --what trace` lists it.

Refuses names of no array.)",
    .params = {{.name = "arrays",
                .kind = Kind::Names,
                .help = "the arrays",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel spread(n: int32, a: float64[n*n], b: float64[n])
domain {[i]: 0 <= i < n}
a[i*i] = b[i]
)",
    .example = R"(knl = lp.assume_disjoint(knl, "a")
knl = lp.tag_inames(knl, "i:par"))",
    .run = [](const Kernel& k, const Args& a) { return assume_disjoint(k, a.names("arrays")); },
    .query = {},
};

}  // namespace moonloop
