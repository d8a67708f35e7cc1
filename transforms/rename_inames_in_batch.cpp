#include "transforms/rename_inames_in_batch.h"

#include <map>
#include <set>

#include "core/model/lookup.h"
#include "transforms/registry.h"
#include "transforms/rename_iname.h"

namespace moonloop {

Kernel rename_inames_in_batch(const Kernel& k, const InameNames& new_names, Proof proof) {
  std::map<std::string, std::string> olds;  // by new name
  std::set<std::string> renamed;
  for (const auto& [from, to] : new_names) {
    require_iname(k, from);
    renamed.insert(from);
    if (const auto [it, fresh] = olds.emplace(to, from); !fresh && it->second != from)
      refuse("name-taken", k.at, "`{}` and `{}` would both be `{}`; `rename_inames` makes them one",
             it->second, from, to);
  }
  for (const auto& [to, from] : olds)
    if (!renamed.contains(to)) require_new_name(k, to);
  // By way of free names, so that names may change places.
  Kernel out = k;
  std::map<std::string, std::string> between;
  for (const auto& [to, from] : olds)
    if (to != from) {
      between[to] = out.fresh_name(to + "_next");
      out = rename_iname(out, from, between[to], {.proof = Proof::LeftOut});
    }
  std::size_t left = between.size();
  for (const auto& [to, name] : between)
    out = rename_iname(out, name, to, {.proof = --left == 0 ? proof : Proof::LeftOut});
  return out;
}

extern const Op rename_inames_in_batch_op;
const Op rename_inames_in_batch_op{
    .name = "rename_inames_in_batch",
    .doc = R"(Renames several loops at once; names may change places.

Tags, priorities and slabs stay with the loops. No two loops become one: that is `rename_inames`.

Refuses a new name that two inames would get, and one that something else has.)",
    .params = {{.name = "new_names",
                .kind = Kind::Tags,
                .help = "new names by iname: {i = \"row\"}, or \"i:row, j:column\"",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel copy(n: int32, a: float64[n, n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = a[i, j]
)",
    .example = R"(knl = lp.rename_inames_in_batch(knl, {i = "j", j = "i"}))",
    .run = [](const Kernel& k,
              const Args& a) { return rename_inames_in_batch(k, a.pairs("new_names"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
