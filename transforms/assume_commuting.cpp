#include "transforms/assume_commuting.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

void require_updates(const Kernel& k, const std::string& name) {
  if (!k.find_arg(name) && !k.find_temporary(name)) {
    std::vector<std::string> all;
    for (const Argument& a : k.args) all.push_back(a.name);
    for (const auto& [n, t] : k.temporaries) all.push_back(n);
    fail_for(name, "unknown-variable", k.at, "no variable `{}` in kernel `{}`; it has {}", name,
             k.name, all.empty() ? "none" : quoted_list(all));
  }
  const auto updates = [&](const InsnPtr& i) {
    return i->atomic == Atomicity::Update && writes(*i).count(name) > 0;
  };
  const auto writer = std::find_if(k.instructions.begin(), k.instructions.end(),
                                   [&](const InsnPtr& i) { return writes(*i).count(name) > 0; });
  if (std::none_of(k.instructions.begin(), k.instructions.end(), updates))
    refuse("not-atomic", writer == k.instructions.end() ? k.at : (*writer)->at,
           "no instruction of kernel `{}` updates `{}` atomically; `{{atomic}}` after it says that "
           "one does",
           k.name, name);
}

}  // namespace

Kernel assume_commuting(const Kernel& k, const std::vector<std::string>& variables) {
  if (variables.empty()) refuse("no-arrays", k.at, "no variable is given to assume anything of");
  std::string names;
  for (const std::string& v : variables) {
    require_updates(k, v);
    names += (names.empty() ? "" : ", ") + v;
  }
  Kernel out = k;
  Claim claim{Claim::Kind::Unsafe, variables,
              fmt::format("assume_commuting({})", to_lua(Value{names}))};
  const bool known = std::any_of(k.claims.begin(), k.claims.end(),
                                 [&](const Claim& c) { return c.step == claim.step; });
  if (!known) out.claims.push_back(std::move(claim));
  return out;
}

extern const Op assume_commuting_op;
const Op assume_commuting_op{
    .name = "assume_commuting",
    .doc =
        R"(Vouches that the atomic updates of these variables may run in any order.

Updates of one operation, `a = a + e`, need no claim. This one is for others, such as those that use
the value which they fetch: the places that a counter hands out depend on the order, but one order may
be as good as another. The claim is not checked, and a run may differ from the interpreter's; `show
--what trace` and `check` list it. It holds of the copies of buffer_array and of the parts of axes
that are tagged `sep` as well.

Refuses names of no variable, and variables that no instruction updates atomically.)",
    .params = {{.name = "variables",
                .kind = Kind::Names,
                .help = "what is updated",
                .required = true,
                .positional = true}},
    .example_kernel =
        R"(kernel pick(n: int32, x: float64[n], count: inout int32[1], list: inout int32[n])
domain {[i]: 0 <= i < n}
if x[i] > 0.5
  <> at, count[0] = make_tuple(count[0], count[0] + 1)   {id=take, atomic}
  list[at] = i   {id=put, dep=take}
end
)",
    .example = R"(knl = lp.assume_commuting(knl, "count")
knl = lp.assume_disjoint(knl, "list")
knl = lp.tag_inames(knl, "i:par"))",
    .run = [](const Kernel& k, const Args& a) { return assume_commuting(k, a.names("variables")); },
    .query = {},
};

}  // namespace moonloop
