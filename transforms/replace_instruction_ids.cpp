#include "transforms/replace_instruction_ids.h"

#include <map>

#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel replace_instruction_ids(const Kernel& given, const InsnNames& replacements) {
  std::map<std::string, std::string> names;
  for (const auto& [from, to] : replacements) {
    require_insn(given, from);
    require_identifier(to, given.at);
    names[from] = to;
  }
  std::map<std::string, std::string> olds;  // by new id
  for (const InsnPtr& insn : given.instructions) {
    const auto it = names.find(insn->id);
    const std::string& id = it == names.end() ? insn->id : it->second;
    if (const auto [other, fresh] = olds.emplace(id, insn->id); !fresh)
      refuse("name-taken", insn->at, "`{}` and `{}` would both have the id `{}`", other->second,
             insn->id, id);
  }
  // The parts of reductions have names made from ids: the present order becomes the meaning.
  Kernel out = given.reference ? rebase(proved(given)) : given;
  const auto renamed = [&](std::string& id) {
    if (const auto it = names.find(id); it != names.end()) id = it->second;
  };
  for (InsnPtr& insn : out.instructions)
    insn = edit(insn, [&](Instruction& i) {
      renamed(i.id);
      for (std::string& d : i.depends_on) renamed(d);
      for (NoSync& n : i.no_sync) renamed(n.id);
    });
  return out;
}

extern const Op replace_instruction_ids_op;
const Op replace_instruction_ids_op{
    .name = "replace_instruction_ids",
    .doc = R"(Gives instructions other ids, also where others depend on them. Ids may change places.

Refuses an id that another instruction has or gets.)",
    .params = {{.name = "replacements",
                .kind = Kind::Tags,
                .help = "new ids by id: {insn = \"load\"}, or \"insn:load, insn_0:store\"",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1      {id=first}
c[i] = a[i]   {id=second, dep=first}
)",
    .example = R"(knl = lp.replace_instruction_ids(knl, {first = "fill"}))",
    .run = [](const Kernel& k,
              const Args& a) { return replace_instruction_ids(k, a.pairs("replacements")); },
    .query = {},
};

}  // namespace moonloop
