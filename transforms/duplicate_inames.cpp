#include "transforms/duplicate_inames.h"

#include "core/order/reference.h"
#include "core/order/reordered.h"
#include "core/rewrite/own_loops.h"
#include "transforms/iname_nesting.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"
#include "transforms/tag_inames.h"

namespace moonloop {

Kernel duplicate_inames(const Kernel& k, const std::vector<std::string>& inames,
                        const Match& within, const DuplicateOptions& o) {
  std::set<std::string> wanted;
  for (const std::string& i : inames) {
    require_iname(k, i);
    if (!wanted.insert(i).second)
      refuse("twice", k.at, "`{}` occurs twice in the list of inames", i);
  }
  if (inames.empty()) refuse("no-inames", k.at, "no iname is given to duplicate");
  if (!o.new_inames.empty() && o.new_inames.size() != inames.size())
    refuse("name-count", k.at, "{} new inames are given for {} to duplicate", o.new_inames.size(),
           inames.size());
  for (const auto& [iname, tag] : o.tags) {
    require_iname(k, iname);
    if (!wanted.contains(iname))
      refuse_for(iname, "bad-tag", k.at, "a tag is given for `{}`, which is not duplicated", iname);
  }
  std::vector<bool> picked(k.instructions.size());
  std::set<std::string> used;
  for (const std::size_t n : matching(k, within)) {
    picked[n] = true;
    for (const std::string& i : all_inames(k, *k.instructions[n])) used.insert(i);
  }
  for (const std::string& i : inames)
    if (!used.contains(i))
      fail("no-match", k.at, "no instruction that `within` selects uses `{}`", i);

  NewInames names(k);
  InameCopies pairs;
  for (std::size_t n = 0; n < inames.size(); ++n)
    pairs.emplace_back(
        inames[n], names.take(o.new_inames.empty() ? "" : o.new_inames[n], inames[n] + o.suffix));
  const bool nests = k.reference || loops_nest(k);
  Kernel out = with_own_loops(k, pairs, picked);
  for (const auto& [from, to] : pairs)
    for (const auto& [iname, text] : o.tags)
      if (iname == from)
        if (const auto tag = tag_for(out, to, text)) out.iname_tags[to] = *tag;
  if (nests) return reordered(k, std::move(out), o.proof);
  // There was no order yet. Where there is none still, another such step may help.
  for (InsnPtr& i : out.instructions)
    i = edit(i, [](Instruction& x) { x.origin_id.clear(), x.origin.clear(); });
  return loops_nest(out) ? proved(std::move(out)) : out;
}

extern const Op duplicate_inames_op;
const Op duplicate_inames_op{
    .name = "duplicate_inames",
    .doc = R"(Gives some instructions loops of their own over the same values: distributes loops.

The copy of iname i is called after `new_inames`, else i followed by `suffix`, with a number if that
is taken. `tags` gives the new inames tags, by the names of the old ones. Where the loops of the kernel
cannot be nested, its order begins with the step that makes them nest; `get_iname_duplication_options`
knows such steps.

Refuses inames that no selected instruction uses, names in use, inames whose bounds depend on a
duplicated one while selected and other instructions share them, and a distribution against a
dependence, with two instances that would change places.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the inames to duplicate",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the instructions that move to the new loops",
                .required = true,
                .positional = true},
               {.name = "new_inames",
                .kind = Kind::Names,
                .help = "names of the new loops",
                .fallback = "<iname><suffix>",
                .positional = true},
               {.name = "suffix",
                .kind = Kind::Str,
                .help = "ends the names of the new loops",
                .fallback = "\"\"",
                .positional = true},
               {.name = "tags",
                .kind = Kind::Tags,
                .help = "tag of the new iname, by old iname: {i = \"par\"}",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]  {id=first}
c[i] = b[i] + 1  {id=second, dep=first}
)",
    .example = R"(knl = lp.duplicate_inames(knl, "i", "id:second", {suffix = "_second"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return duplicate_inames(k, a.names("inames"), Match::parse(a.str("within"), a.at()),
                                  {.new_inames = a.names("new_inames"),
                                   .suffix = a.str("suffix"),
                                   .tags = a.pairs("tags"),
                                   .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
