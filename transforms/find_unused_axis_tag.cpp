#include <set>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

std::string unused_axis_tag(const Kernel& k, const std::string& kind, const Match& insn_match,
                            const Span& at) {
  const std::string prefix = kind == "group" ? "g" : kind == "local" ? "l" : kind;
  if (prefix != "g" && prefix != "l")
    fail("bad-argument", at, "`{}` is not a kind of axis: `g` or `group`, `l` or `local`", kind);
  std::set<std::string> used;
  for (const std::size_t n : some_matching(k, insn_match, "`insn_match` selects no instruction"))
    for (const std::string& i : all_inames(k, *k.instructions[n]))
      if (const InameTag* tag = k.tag(i)) used.insert(tag->text);
  int axis = 0;
  while (used.contains(fmt::format("{}.{}", prefix, axis))) ++axis;
  return fmt::format("{}.{}", prefix, axis);
}

}  // namespace

extern const Op find_unused_axis_tag_op;
const Op find_unused_axis_tag_op{
    .name = "find_unused_axis_tag",
    .doc =
        R"(Gives the tag of the first axis of groups or work-items that instructions do not use.)",
    .params = {{.name = "kind",
                .kind = Kind::Str,
                .help = "\"g\" or \"group\", \"l\" or \"local\"",
                .required = true,
                .positional = true},
               {.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions; all if absent",
                .positional = true}},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n, 16])
domain {[i, j]: 0 <= i < n and 0 <= j < 16}
a[i, j] = 1
)",
    .example = R"(knl = lp.tag_inames(knl, "i:g.0")
knl = lp.tag_inames(knl, {j = lp.find_unused_axis_tag(knl, "l")}))",
    .run = {},
    .query =
        [](const Kernel& k, const Args& a) {
          return Value{
              unused_axis_tag(k, a.str("kind"), Match::parse(a.str("insn_match"), a.at()), a.at())};
        },
};

}  // namespace moonloop
