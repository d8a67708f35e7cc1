#include "transforms/add_inames_to_insn.h"

#include "core/model/lookup.h"
#include "transforms/insn_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The loops among which the bounds of `inames` can be computed.
void require_bounding_loops(const Kernel& k, const Instruction& insn,
                            const std::set<std::string>& inames) {
  for (const std::string& iname : inames)
    for (const std::string& p : k.home_of(iname)->params())
      if (k.has_iname(p) && !inames.contains(p))
        refuse("missing-loop", insn.at,
               "the bounds of `{}` depend on `{}`, which is not a loop around `{}`; add it too",
               iname, p, insn.id);
}

}  // namespace

Kernel add_inames_to_insn(const Kernel& k, const std::vector<std::string>& inames,
                          const Match& insn_match, Proof proof) {
  for (const std::string& i : inames) require_iname(k, i);
  InsnInames wanted;
  for (const std::size_t n : some_matching(k, insn_match, "`insn_match` selects no instruction")) {
    const Instruction& insn = *k.instructions[n];
    std::set<std::string> all = insn.inames;
    all.insert(inames.begin(), inames.end());
    const std::set<std::string> used = all_inames(k, insn);
    for (const std::string& i : inames)
      if (used.contains(i) && !insn.inames.contains(i))
        refuse("both-inames", insn.at, "a reduction of `{}` is over `{}` already", insn.id, i);
    require_bounding_loops(k, insn, all);
    if (all != insn.inames) wanted[insn.id] = std::move(all);
  }
  return wanted.empty() ? k : with_insn_inames(k, wanted, false, proof);
}

extern const Op add_inames_to_insn_op;
const Op add_inames_to_insn_op{
    .name = "add_inames_to_insn",
    .doc = R"(Puts loops around instructions, which then run again in each iteration.

Work-items and groups get a value of their own that way, and the loops of a value and of its uses
become one. All matching instructions move together.

Refuses an iname that a reduction of the instruction binds, a loop whose bounds depend on one that is not
around the instruction, a loop that may have no iteration (with the instance that would be lost), an
instruction that reads what it writes, such as an accumulation, and a place in the order in which it
would find or leave other values, with two instances.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the loops to add",
                .required = true,
                .positional = true},
               {.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1
<>t = 2*a[0]   {id=factor}
b[i] = t*a[i]
)",
    .example = R"(knl = lp.add_inames_to_insn(knl, "i", "id:factor"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return add_inames_to_insn(k, a.names("inames"), Match::parse(a.str("insn_match"), a.at()),
                                    a.proof());
        },
    .query = {},
};

}  // namespace moonloop
