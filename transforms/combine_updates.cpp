#include "transforms/combine_updates.h"

#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/combinable.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel combine_updates(const Kernel& k, const std::vector<std::string>& variables,
                       const Match& within) {
  const Kernel typed = infer_types(expand_all_rules(k));
  CommutingUpdates updates(typed);
  Kernel out = k;
  for (const std::string& v : variables) {
    if (!k.find_arg(v) && !k.find_temporary(v))
      fail_for(v, "unknown-variable", k.at, "no variable `{}` in kernel `{}`", v, k.name);
    bool any = false;
    for (std::size_t n = 0; n < k.instructions.size(); ++n) {
      const Instruction& insn = *typed.instructions[n];
      if (insn.atomic != Atomicity::Update || !writes(insn).count(v) ||
          !within(k, *k.instructions[n]))
        continue;
      combinable_update(typed, insn, updates);
      out.instructions[n] = edit(k.instructions[n], [](Instruction& i) { i.combined = true; });
      any = true;
    }
    if (!any)
      refuse("no-match", k.at, "no selected instruction of kernel `{}` updates `{}` atomically",
             k.name, v);
  }
  return out;
}

extern const Op combine_updates_op;
const Op combine_updates_op{
    .name = "combine_updates",
    .doc = R"(Lets one work-item update an element for all that update it at the same time.

For arrays that are updated atomically through computed subscripts, such as a histogram. On target
`cuda`, the work-items of a warp that meet in an element combine their terms first, in a few exchanges
of registers, so that a sorted input, or one with few different values, costs a fraction of the atomic
operations; a warp whose neighbours do not meet notices this and loses little time. On other targets,
each update is made by itself. What runs of one work-item's own iterations do to one element is
combined by `privatize_updates` with `holds = "last"`, on all targets.

The updates are sums, products, `min`, `max`, `&`, `|` or `^` of the element and one other operand,
in numbers of 4 or 8 bytes.

Refuses updates that do not commute, or are none of these.)",
    .params = {{.name = "var_names",
                .kind = Kind::Names,
                .help = "the arrays",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the updates",
                .fallback = "all atomic ones",
                .positional = true}},
    .example_kernel = R"(kernel histogram(n: int32, data: in int32[n], bins: inout int32[n])
domain {[i]: 0 <= i < n}
bins[data[i] % n] = bins[data[i] % n] + 1   {id=count, atomic}
)",
    .example = R"(knl = lp.split_iname(knl, "i", 128, {outer_tag = "g.0", inner_tag = "l.0"})
knl = lp.combine_updates(knl, "bins"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return combine_updates(k, a.names("var_names"), Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
