#include "transforms/expand_subst.h"

#include "core/rewrite/rule_rewrite.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel expand_subst(const Kernel& k, const Match& within) {
  bool any = false;
  RuleRewrite rw;
  rw.same_everywhere = within.everything();
  rw.expand = [&](const RulePlace& at) {
    const bool here = within(k, at.insn, at.stack);
    any |= here;
    return here;
  };
  Kernel out = rewrite_through_rules(k, rw);
  if (!any && !within.everything())
    refuse("no-match", k.at, "`within` matches no call of a rule in kernel `{}`", k.name);
  return out;
}

extern const Op expand_subst_op;
const Op expand_subst_op{
    .name = "expand_subst",
    .doc = R"(Puts the bodies of substitution rules in place of their calls.

`within` selects calls by their place: "g$three < h$two" is the call of g tagged three in the call
of h tagged two. A rule of which only some calls change gets another version, h_0; a rule that is no
longer called goes.

Refuses a `within` that matches no call.)",
    .params = {{.name = "within",
                .kind = Kind::Match,
                .help = "the calls to expand; all if absent",
                .positional = true}},
    .example_kernel = R"(kernel rules(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
f(x) := x*a[x]
g(x) := 12 + f(x)
b[i] = g$one(i) + g$two(i)
)",
    .example = R"(knl = lp.expand_subst(knl, "g$two"))",
    .run = [](const Kernel& k,
              const Args& a) { return expand_subst(k, Match::parse(a.str("within"), a.at())); },
    .query = {},
};

}  // namespace moonloop
