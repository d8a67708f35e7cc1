#include "transforms/remove_instructions.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "core/order/reordered.h"
#include "core/rewrite/removal.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Whether a value of `name` that some instruction of `ids` writes can reach an instruction that
/// stays: a write that comes after all of them passes nothing on. Over-approximated.
bool passes_on(const Kernel& k, const std::set<std::string>& ids, const std::string& name) {
  const DependenceList list = dependences(k);
  const auto& all = list.kernel.instructions;
  return std::any_of(list.all.begin(), list.all.end(), [&](const Dependence& d) {
    if (d.kind != DepKind::Flow || d.variable != name) return false;
    // The statements of a removed instruction's reductions go with it.
    const auto stays = [&](int i) {
      const std::string& id = all[static_cast<std::size_t>(i)]->id;
      return !ids.contains(id) && k.find_insn(id) != nullptr;
    };
    return !stays(d.from) && !ids.contains(all[static_cast<std::size_t>(d.to)]->id);
  });
}

/// Fails `value-needed` when something that stays reads what one of `ids` writes.
void require_unread(const Kernel& k, const std::set<std::string>& ids) {
  std::map<std::string, const Instruction*> written;
  for (const InsnPtr& i : k.instructions)
    if (ids.contains(i->id))
      for (const std::string& name : writes(*i)) written.try_emplace(name, i.get());
  const char* hint = "remove the reader too, or pass `unsafe = true`";
  const auto needed = [&](const Instruction& writer, const std::string& name, const Span& at,
                          const std::string& reader) {
    Diagnostic d{"value-needed",
                 fmt::format("{} reads `{}`, which `{}` writes", reader, name, writer.id),
                 {writer.at, {}},
                 {},
                 hint};
    if (at) d.notes.push_back({at, fmt::format("`{}` is read here", name)});
    throw Refused(std::move(d));
  };
  for (const InsnPtr& i : k.instructions) {
    if (ids.contains(i->id)) continue;
    for (const std::string& name : reads(k, *i))
      if (const auto it = written.find(name); it != written.end() && passes_on(k, ids, name))
        needed(*it->second, name, i->at, "`" + i->id + "`");
  }
  for (const Domain& d : k.domains)
    for (const std::string& name : d.params())
      if (const auto it = written.find(name); it != written.end())
        needed(*it->second, name, d.at, "a loop bound");
}

}  // namespace

Kernel remove_instructions(const Kernel& k, const std::vector<std::string>& insn_ids, Proof proof) {
  const std::set<std::string> ids(insn_ids.begin(), insn_ids.end());
  std::set<std::string> unknown = ids;
  for (const InsnPtr& i : k.instructions) unknown.erase(i->id);
  if (!unknown.empty()) require_insn(k, *unknown.begin());
  if (ids.empty()) return k;
  Kernel out = without_instructions(k, ids);
  if (proof == Proof::LeftOut) return rebase(std::move(out));
  require_unread(k, ids);
  return in_order_of(k, std::move(out));
}

extern const Op remove_instructions_op;
const Op remove_instructions_op{
    .name = "remove_instructions",
    .doc = R"(Removes instructions.

What depended on a removed instruction depends on what that one depended on. Values that nothing reads,
those of output arguments too, are no longer computed.

Refuses an instruction whose value another one, or a loop bound, reads after it; `unsafe` removes it
all the same.)",
    .params = {{.name = "insn_ids",
                .kind = Kind::Names,
                .help = "ids of the instructions",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1   {id=first}
c[i] = 2   {id=second}
)",
    .example = R"(knl = lp.remove_instructions(knl, "first"))",
    .run = [](const Kernel& k,
              const Args& a) { return remove_instructions(k, a.names("insn_ids"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
