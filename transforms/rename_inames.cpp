#include "transforms/rename_inames.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel rename_inames(const Kernel& k, const std::vector<std::string>& old_inames,
                     const std::string& new_iname, const RenameOptions& o) {
  for (const std::string& i : old_inames) require_iname(k, i);
  std::vector<std::string> olds;  // without the new name itself, which is there already
  for (const std::string& i : old_inames)
    if (i != new_iname && std::find(olds.begin(), olds.end(), i) == olds.end()) olds.push_back(i);
  if (olds.empty()) refuse("name-taken", k.at, "`{}` has this name already", new_iname);
  if (!o.existing_ok && (olds.size() < old_inames.size() || k.has_iname(new_iname)))
    require_new_name(k, new_iname);
  Kernel out = k;
  RenameOptions each = o;
  for (std::size_t n = 0; n < olds.size(); ++n) {
    each.existing_ok = o.existing_ok || n > 0;
    // The loop is proved when all of them are in it.
    each.proof = n + 1 == olds.size() ? o.proof : Proof::LeftOut;
    out = rename_iname(out, olds[n], new_iname, each);
  }
  return out;
}

extern const Op rename_inames_op;
const Op rename_inames_op{
    .name = "rename_inames",
    .doc = R"(Gives several loops one name: they become one loop.

Does what `rename_iname` does to each of them, the first one first, and proves the order of the result.
`existing_ok` lets the new name be that of an iname.

Refuses what `rename_iname` refuses.)",
    .params = {{.name = "old_inames",
                .kind = Kind::Names,
                .help = "the inames to rename",
                .required = true,
                .positional = true},
               {.name = "new_iname",
                .kind = Kind::Str,
                .help = "their new name",
                .required = true,
                .positional = true},
               {.name = "existing_ok",
                .kind = Kind::Bool,
                .help = "the new name may be an iname",
                .fallback = "false",
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "renames for these instructions only",
                .positional = true},
               {.name = "raise_on_domain_mismatch",
                .kind = Kind::Bool,
                .help = "refuses to merge loops over different values",
                .fallback = "true",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
b[i] = 2*a[i]  {id=first}
c[j] = b[j] + 1  {id=second, dep=first}
)",
    .example = R"(knl = lp.rename_inames(knl, "i, j", "ij"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return rename_inames(
              k, a.names("old_inames"), a.str("new_iname"),
              {.existing_ok = a.boolean("existing_ok"),
               .raise_on_domain_mismatch = a.boolean("raise_on_domain_mismatch", true),
               .within = Match::parse(a.str("within"), a.at()),
               .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
