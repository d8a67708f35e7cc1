#include "transforms/remove_unused_inames.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/rewrite/iname_rewrite.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// By iname in use, what uses it. A domain that stays uses its parameters.
std::map<std::string, std::string> users(const Kernel& k) {
  std::map<std::string, std::string> out;
  for (const InsnPtr& insn : k.instructions)
    for (const std::string& i : all_inames(k, *insn)) out.emplace(i, "`" + insn->id + "`");
  for (const Rule& r : k.rules) {
    std::set<std::string> names = reduction_inames(k, r.body);
    collect_vars(r.body, names);
    for (const std::string& i : names)
      if (k.has_iname(i)) out.emplace(i, "rule `" + r.name + "`");
  }
  for (bool more = true; std::exchange(more, false);)
    for (const Domain& d : k.domains) {
      const std::vector<std::string> own = d.inames();
      const auto stays = std::find_if(own.begin(), own.end(),
                                      [&](const std::string& i) { return out.contains(i); });
      if (stays == own.end()) continue;
      for (const std::string& p : d.params())
        if (k.has_iname(p) && out.emplace(p, "the domain of `" + *stays + "`").second) more = true;
    }
  return out;
}

}  // namespace

Kernel remove_unused_inames(const Kernel& k, const std::vector<std::string>& inames, Proof proof) {
  const std::map<std::string, std::string> used = users(k);
  std::set<std::string> gone;
  for (const std::string& i : inames.empty() ? k.inames() : inames_like(k, inames)) {
    const auto it = used.find(i);
    if (it == used.end())
      gone.insert(i);
    else if (!inames.empty())
      refuse("iname-used", k.at, "`{}` is in use: {} needs it", i, it->second);
  }
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params())
      if (gone.contains(p))
        for (const std::string& i : d.inames())
          if (!gone.contains(i))
            refuse("iname-used", k.at, "`{}` is in use: the domain of `{}` needs it", p, i);
  if (gone.empty()) return k;
  Kernel out = k;
  for (Domain& d : out.domains) {
    std::vector<std::string> stay = d.inames();
    if (std::erase_if(stay, [&](const std::string& i) { return gone.contains(i); }) == 0) continue;
    d.set = stay.empty() ? Set() : tidy(to_dims(std::move(d.set), stay));
  }
  std::erase_if(out.domains, [](const Domain& d) { return !d.set; });
  const auto lost = [&](const std::string& i) { return gone.contains(i); };
  erase_if(out.loop_order, lost);
  for (std::vector<std::string>& chain : out.priorities) std::erase_if(chain, lost);
  for (const std::string& i : gone) {
    out.iname_tags.erase(i);
    out.slabs.erase(i);
  }
  return reordered(k, std::move(out), proof);
}

extern const Op remove_unused_inames_op;
const Op remove_unused_inames_op{
    .name = "remove_unused_inames",
    .doc = R"(Takes loops out of their domains that nothing runs in.

What the bounds of such a loop say of others stays: of `{[i, j]: 0 <= i <= j < n}`, `0 <= i < n` is left
without `j`.

Refuses an iname that an instruction, a rule or the bounds of another loop use.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "inames or shell-style patterns",
                .fallback = "all that are unused",
                .positional = true}},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n])
domain {[i, j]: 0 <= i <= j < n}
a[i] = 1
)",
    .example = R"(knl = lp.remove_unused_inames(knl, "j"))",
    .run = [](const Kernel& k,
              const Args& a) { return remove_unused_inames(k, a.names("inames"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
