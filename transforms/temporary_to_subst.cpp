#include "transforms/registry.h"

namespace moonloop {

/// The name under which the paper on Loo.py's Fortran front end has assignment_to_subst.
extern const Op temporary_to_subst_op;
const Op temporary_to_subst_op{
    .name = "temporary_to_subst",
    .doc =
        R"(Another name of assignment_to_subst: turns the assignments to a variable into rules.)",
    .params = {},
    .example_kernel = {},
    .example = {},
    .run = {},
    .query = {},
    .alias_of = "assignment_to_subst",
};

}  // namespace moonloop
