#include "transforms/inline.h"

#include <algorithm>

#include "core/model/external.h"
#include "core/order/check_kernel.h"
#include "core/order/inline_calls.h"
#include "core/order/reference.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel inline_kernels(const Kernel& k, const std::vector<std::string>& callees, const Match& within,
                      bool steps) {
  const auto picked = [&](const Instruction& i) {
    return called_kernel(k, i) && within(k, i) &&
           (callees.empty() ||
            std::find(callees.begin(), callees.end(), external_call(k, i)->name) != callees.end());
  };
  for (const std::string& name : callees)
    if (!k.callees.count(name)) {
      std::vector<std::string> all;
      for (const auto& [n, callee] : k.callees) all.push_back(n);
      refuse_for(name, "no-match", k.at, "`{}` calls no kernel `{}`{}", k.name, name,
                 all.empty() ? "" : "; it calls " + quoted_list(all));
    }
  if (std::none_of(k.instructions.begin(), k.instructions.end(),
                   [&](const InsnPtr& i) { return picked(*i); }))
    refuse("no-match", k.at, "no selected instruction of `{}` calls a kernel", k.name);
  return proved(inline_calls(complete(k), picked, steps));
}

extern const Op inline_op;
const Op inline_op{
    .name = "inline",
    .doc = R"(Puts the statements of called kernels in the places of their calls.

The callee's loops, temporaries and ids keep their names, with a number behind where the caller has
them. Without `steps`, what is put in is the kernel of the source; with it, the callee as
`lp.transform_callee` left it: its loops, their tags and its storage.

Refuses tags of the callee that two loops of the result cannot have, such as one axis for both, a
callee whose temporaries have sizes that are computed in the caller, or initial values that it
changes, and one that has flat subscripts of an argument.)",
    .params = {{.name = "callees",
                .kind = Kind::Names,
                .help = "the called kernels; all if absent",
                .positional = true},
               {.name = "within", .kind = Kind::Match, .help = "the calls; all if absent"},
               {.name = "steps",
                .kind = Kind::Bool,
                .help = "the callee's steps come along",
                .fallback = "false"}},
    .example_kernel = R"(kernel rows(n: int32, a: float64[n, n], b: float64[n, n])
domain {[j]: 0 <= j < n}
call scale(n, a[j, :], b[j, :])

kernel scale(n: int32, x: in float64[n], y: out float64[n])
domain {[i]: 0 <= i < n}
y[i] = 2*x[i]
)",
    .example = R"(knl = lp.inline(knl, "scale"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return inline_kernels(k, a.names("callees"), Match::parse(a.str("within"), a.at()),
                                a.boolean("steps"));
        },
    .query = {},
};

}  // namespace moonloop
