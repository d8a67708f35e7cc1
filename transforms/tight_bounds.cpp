#include "transforms/tight_bounds.h"

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/rewrite/loop_body.h"
#include "core/rewrite/loop_bounds.h"
#include "core/rewrite/loop_values.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel tight_bounds(const Kernel& k, const std::string& iname) {
  require_iname(k, iname);
  const std::optional<LoopValues> values = loop_values(k, iname);
  const auto nothing_idle = [&] {
    refuse("no-idle", k.home_of(iname)->at,
           "no bounds of `{}` leave out iterations in which nothing runs", iname);
  };
  if (!values) nothing_idle();
  std::vector<std::string> names = values->around;
  names.push_back(iname);
  const Set bounds = domain_of(k, names);
  Set hull =
      isl_set_from_basic_set(isl_set_simple_hull(isl_set_remove_divs(values->points.copy())));
  hull = isl_set_gist(hull.take(), bounds.copy());
  if (yes(isl_set_is_subset(bounds.get(), hull.get()))) nothing_idle();
  Kernel out = k;
  detach_loop(out, iname, LoopBody(k, iname).own());
  Domain& home = out.domains[std::size_t(out.home_of(iname) - out.domains.data())];
  hull = to_dims(dims_to_params(std::move(hull), values->around), home.inames());
  home.set = isl_set_intersect(home.set.take(), hull.take());
  return out;
}

extern const Op tight_bounds_op;
const Op tight_bounds_op{
    .name = "tight_bounds",
    .doc =
        R"(Leaves iterations of a loop in which nothing runs out of its bounds.

What bounds loops inside of it, and conditions that all of its statements have, then bound the loop
itself: code does that anyway, but a reduction that is recognized inside runs in each iteration, with
no terms or with some.

Refuses a loop whose bounds cannot be closer to what runs.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel add(n: int32, y: float64[n], x: float64[n])
domain {[i]: 0 <= i < n}
domain {[k]: 8 <= k < i}
y[i] = y[i] + x[k]
)",
    .example = R"(knl = lp.tight_bounds(knl, "i"))",
    .run = [](const Kernel& k, const Args& a) { return tight_bounds(k, a.str("iname")); },
    .query = {},
};

}  // namespace moonloop
