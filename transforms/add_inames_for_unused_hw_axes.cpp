#include "transforms/add_inames_for_unused_hw_axes.h"

#include "core/model/lookup.h"
#include "transforms/insn_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using Axes = std::map<std::string, std::set<std::string>>;  // inames by tag

Axes hardware_axes(const Kernel& k) {
  Axes out;
  for (const auto& [iname, tag] : k.iname_tags) {
    if (tag.kind == TagKind::LocalAuto)
      refuse("open-axis", k.at, "`{}` is tagged `l.auto`: its axis is not known yet", iname);
    if (tag.kind == TagKind::Group || tag.kind == TagKind::Local) out[tag_text(tag)].insert(iname);
  }
  return out;
}

}  // namespace

Kernel add_inames_for_unused_hw_axes(const Kernel& k, const Match& within, Proof proof) {
  const Axes axes = hardware_axes(k);
  InsnInames wanted;
  for (const std::size_t n : some_matching(k, within, "`within` selects no instruction")) {
    const Instruction& insn = *k.instructions[n];
    const std::set<std::string> own = all_inames(k, insn);
    std::set<std::string> all = insn.inames;
    for (const auto& [axis, inames] : axes) {
      if (std::any_of(inames.begin(), inames.end(),
                      [&](const std::string& i) { return own.contains(i); }))
        continue;
      if (inames.size() > 1)
        refuse("several-inames", insn.at,
               "`{}` does not use the axis `{}`, on which {} are; add_inames_to_insn adds one of "
               "them",
               insn.id, axis, quoted_list(std::vector<std::string>(inames.begin(), inames.end())));
      all.insert(inames.begin(), inames.end());
    }
    if (insn.kind != InsnKind::Barrier && all != insn.inames) wanted[insn.id] = std::move(all);
  }
  for (const auto& [id, inames] : wanted)
    for (const std::string& i : inames)
      for (const std::string& p : k.home_of(i)->params())
        if (k.has_iname(p) && !inames.contains(p))
          refuse("missing-loop", k.find_insn(id)->at,
                 "the bounds of `{}` depend on `{}`, which is not a loop around `{}`", i, p, id);
  return wanted.empty() ? k : with_insn_inames(k, wanted, false, proof);
}

extern const Op add_inames_for_unused_hw_axes_op;
const Op add_inames_for_unused_hw_axes_op{
    .name = "add_inames_for_unused_hw_axes",
    .doc = R"(Puts instructions in the loops on axes of groups and work-items that they do not use.

All work-items of a group then run them, each with a value of its own, where without it the first
work-item of the axis would run them for all.

Refuses an axis that two inames share, `l.auto`, and what `add_inames_to_insn` refuses: an instruction that
reads what it writes, work-items that would write one element, with two instances.)",
    .params = {{.name = "within",
                .kind = Kind::Match,
                .help = "the instructions; all if absent",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], b: float64[n, 16])
domain {[i, j]: 0 <= i < n and 0 <= j < 16}
<> t = 2*a[i]    {id=factor, inames=i}
b[i, j] = t*j
)",
    .example = R"(knl = lp.tag_inames(knl, "i:g.0, j:l.0")
knl = lp.add_inames_for_unused_hw_axes(knl)
assert(#knl.instructions[1].inames == 2))",
    .run =
        [](const Kernel& k, const Args& a) {
          return add_inames_for_unused_hw_axes(k, Match::parse(a.str("within"), a.at()), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
