#include "transforms/tag_instructions.h"

#include <algorithm>
#include <cctype>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel tag_instructions(const Kernel& k, const std::string& new_tag, const Match& within) {
  const auto in_tag = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  if (new_tag.empty() || !std::all_of(new_tag.begin(), new_tag.end(), in_tag))
    fail("bad-name", k.at, "`{}` is not a tag: tags are letters, digits, `_` and `.`", new_tag);
  Kernel out = k;
  for (const std::size_t i : some_matching(k, within, "`within` selects no instruction"))
    out.instructions[i] = edit(k.instructions[i], [&](Instruction& x) { x.tags.insert(new_tag); });
  return out;
}

extern const Op tag_instructions_op;
const Op tag_instructions_op{
    .name = "tag_instructions",
    .doc = R"(Adds a tag to instructions, by which a later `within` can select them.

Refuses a `within` that selects no instruction.)",
    .params = {{.name = "new_tag",
                .kind = Kind::Str,
                .help = "the tag",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the instructions; all if absent",
                .positional = true}},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1
c[i] = 2
)",
    .example = R"(knl = lp.tag_instructions(knl, "input", "writes:a"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return tag_instructions(k, a.str("new_tag"), Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
