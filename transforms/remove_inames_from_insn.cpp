#include "transforms/remove_inames_from_insn.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/insn_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

void require_unused(const Kernel& k, const Instruction& insn, const std::set<std::string>& gone,
                    const std::set<std::string>& stay) {
  std::set<std::string> used;
  const auto add = [&](const Expr& e) {
    if (e) collect_vars(expand_rules(k, e), used);
  };
  for (const Expr& e : insn.lhs) add(e);
  add(insn.rhs);
  for (const Expr& e : insn.predicates) add(e);
  for (const std::string& i : gone)
    if (used.contains(i))
      refuse("loop-needed", insn.at, "`{}` uses `{}`: it does something else in each iteration",
             insn.id, i);
  std::set<std::string> others = stay;
  for (const std::string& i : all_inames(k, insn))
    if (!insn.inames.contains(i)) others.insert(i);  // those of its reductions
  for (const std::string& other : others)
    for (const std::string& p : k.home_of(other)->params())
      if (gone.contains(p))
        refuse("loop-needed", insn.at, "the bounds of `{}`, a loop of `{}`, depend on `{}`", other,
               insn.id, p);
}

}  // namespace

Kernel remove_inames_from_insn(const Kernel& k, const std::vector<std::string>& inames,
                               const Match& insn_match, bool guard, Proof proof) {
  for (const std::string& i : inames) require_iname(k, i);
  InsnInames wanted;
  for (const std::size_t n : some_matching(k, insn_match, "`insn_match` selects no instruction")) {
    const Instruction& insn = *k.instructions[n];
    std::set<std::string> gone, stay;
    for (const std::string& i : insn.inames)
      (std::find(inames.begin(), inames.end(), i) != inames.end() ? gone : stay).insert(i);
    if (gone.empty()) continue;
    require_unused(k, insn, gone, stay);
    wanted[insn.id] = std::move(stay);
  }
  return wanted.empty() ? k : with_insn_inames(k, wanted, guard, proof);
}

extern const Op remove_inames_from_insn_op;
const Op remove_inames_from_insn_op{
    .name = "remove_inames_from_insn",
    .doc = R"(Takes instructions out of loops: what is the same in each iteration is computed once.

All matching instructions move together, before the loops, behind them, or where the list has them. With
`guard`, an instruction gets the condition that the loops have an iteration, where they may have none.

Refuses inames that the instruction uses, also for the bounds of its other loops, an instance that would
be new because the loops have no iteration for it, an instruction that reads what it writes, such as an
accumulation, and a place in the order in which it would find or leave other values, with two
instances.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the loops to take away",
                .required = true,
                .positional = true},
               {.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions",
                .required = true,
                .positional = true},
               {.name = "guard",
                .kind = Kind::Bool,
                .help = "a condition where the loops may have no iteration",
                .fallback = "false"},
               unsafe_option()},
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1
for i
  <>t = 2*a[0]   {id=factor}
  b[i] = t*a[i]
end
)",
    .example = R"(knl = lp.remove_inames_from_insn(knl, "i", "id:factor"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return remove_inames_from_insn(k, a.names("inames"),
                                         Match::parse(a.str("insn_match"), a.at()),
                                         a.boolean("guard"), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
