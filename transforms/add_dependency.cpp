#include "transforms/add_dependency.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/model/textual_order.h"
#include "core/order/reordered.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel add_dependency(const Kernel& k, const Match& insn_match, const Match& depends_on,
                      Proof proof) {
  const auto later = some_matching(k, insn_match, "`insn_match` selects no instruction");
  const auto earlier = some_matching(k, depends_on, "`depends_on` selects no instruction");
  if (later.size() == 1 && later == earlier)
    refuse("dependency-cycle", k.instructions[later[0]]->at, "`{}` cannot run before itself",
           k.instructions[later[0]]->id);
  Kernel out = k;
  for (const std::size_t i : later)
    out.instructions[i] = edit(k.instructions[i], [&](Instruction& x) {
      const std::set<std::string> known(x.depends_on.begin(), x.depends_on.end());
      for (const std::size_t d : earlier)
        if (d != i && !known.contains(k.instructions[d]->id))
          x.depends_on.push_back(k.instructions[d]->id);
    });
  textual_order(out);  // refuses cycles, by name
  return reordered(k, std::move(out), proof);
}

extern const Op add_dependency_op;
const Op add_dependency_op{
    .name = "add_dependency",
    .doc = R"(Makes instructions run after others, in each iteration of the loops that they share.

Refuses matches that select nothing, cycles of dependencies, and an order that the values which the
instructions compute do not allow.)",
    .params = {{.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions that run later",
                .required = true,
                .positional = true},
               {.name = "depends_on",
                .kind = Kind::Match,
                .help = "those that run before",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1   {id=first}
c[i] = 2   {id=second}
)",
    .example = R"(knl = lp.add_dependency(knl, "first", "second"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return add_dependency(k, Match::parse(a.str("insn_match"), a.at()),
                                Match::parse(a.str("depends_on"), a.at()), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
