#include "transforms/fuse_loops.h"

#include <set>

#include "core/model/lookup.h"
#include "transforms/registry.h"
#include "transforms/rename_iname.h"

namespace moonloop {

Kernel fuse_loops(const Kernel& k, const std::vector<std::string>& inames, const std::string& name,
                  Proof proof) {
  std::set<std::string> seen;
  for (const std::string& i : inames) {
    require_iname(k, i);
    if (!seen.insert(i).second) refuse("repeated-iname", k.at, "`{}` is given twice", i);
  }
  if (inames.size() < 2)
    refuse("too-few-loops", k.at, "{} given to become one; it takes at least two",
           inames.empty() ? "no loop is" : "one loop is");
  if (!name.empty() && !seen.contains(name)) require_new_name(k, name);
  const std::string one = !name.empty() && seen.contains(name) ? name : inames.front();
  Kernel out = k;
  for (const std::string& i : inames)
    if (i != one)
      out = rename_iname(out, i, one,
                         {.existing_ok = true, .raise_on_domain_mismatch = false, .proof = proof});
  if (name.empty() || name == one) return out;
  return rename_iname(out, one, name, {.proof = proof});
}

extern const Op fuse_loops_op;
const Op fuse_loops_op{
    .name = "fuse_loops",
    .doc = R"(Makes loops of several statements one loop.

    for i: b[i] = a[i]                                  for i: b[i] = a[i]
    for j: c[j] = b[j]    with {"i", "j"} becomes              c[i] = b[i]

The loop runs over the values of all of them; statements whose loops had fewer get conditions. It has
the name of the first loop, or `name`, which may be that of one of the loops. Loops around statements
of each other are fused from the outside in, one pair after the other. It is the inverse of
distribute_loops.

Refuses less than two loops, a loop that is given twice, a name in use, loops around one statement,
different tags, and a fusion against a dependence, with two instances that would change places.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the loops, such as {\"i\", \"j\"}",
                .required = true,
                .positional = true},
               {.name = "name",
                .kind = Kind::Str,
                .help = "name of the one loop",
                .fallback = "the first one's"},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n - 1}
b[i] = 2*a[i]  {id=first}
c[j] = b[j] + 1  {id=second, dep=first}
)",
    .example = R"(knl = lp.fuse_loops(knl, {"i", "j"}, {name = "p"}))",
    .run = [](const Kernel& k,
              const Args& a) { return fuse_loops(k, a.names("inames"), a.str("name"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
