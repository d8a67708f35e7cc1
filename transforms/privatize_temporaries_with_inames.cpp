#include "transforms/privatize_temporaries_with_inames.h"

#include <algorithm>
#include <map>

#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "transforms/registry.h"
#include "transforms/temporary_axes.h"

namespace moonloop {

Kernel privatize_temporaries_with_inames(const Kernel& k, const std::vector<std::string>& inames,
                                         const std::vector<std::string>& only) {
  for (const std::string& i : inames) require_iname(k, i);
  std::map<std::string, std::vector<std::string>> wanted;
  for (const std::string& name : only) {
    require_temporary(k, name);
    wanted[name] = inames;
  }
  if (only.empty())
    for (const InsnPtr& insn : k.instructions)
      for (const std::string& w : writes(*insn))
        if (k.find_temporary(w))
          for (const std::string& i : inames)
            if (auto& has = wanted[w];
                insn->inames.count(i) && std::find(has.begin(), has.end(), i) == has.end())
              has.push_back(i);
  std::erase_if(wanted, [](const auto& w) { return w.second.empty(); });

  return proved(with_axes(k, wanted, "`only_var_names` takes the temporaries that get an axis"));
}

extern const Op privatize_temporaries_with_inames_op;
const Op privatize_temporaries_with_inames_op{
    .name = "privatize_temporaries_with_inames",
    .doc =
        R"(Gives temporaries an axis for each of some inames, so that each iteration has its own copy.

Without `only_var_names`, all temporaries that are written inside of one of the inames get one. New axes
come last and are counted from the iname's least value.

Refuses a temporary that is used outside of the iname, or in which an iteration finds what another one
wrote; inames whose number of values is computed in the kernel; temporaries with initial values, strides or flat
subscripts; and one in the bounds of a loop, which stays a scalar; one that shares its memory, see alias_temporaries, if it
may not do so with the axis.)",
    .params = {{.name = "privatizing_inames",
                .kind = Kind::Names,
                .help = "the inames",
                .required = true,
                .positional = true},
               {.name = "only_var_names",
                .kind = Kind::Names,
                .help = "the temporaries; all that are written inside if not told",
                .positional = true}},
    .example_kernel = R"(kernel scale(a: float32[64], b: float32[64])
domain {[i]: 0 <= i < 64}
<> t = 2*a[i]
b[i] = t + 1
)",
    .example = R"(knl = lp.privatize_temporaries_with_inames(knl, "i")
assert(tostring(knl):find("b[i] = t[i] + 1", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return privatize_temporaries_with_inames(k, a.names("privatizing_inames"),
                                                   a.names("only_var_names"));
        },
    .query = {},
};

}  // namespace moonloop
