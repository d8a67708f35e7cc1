#include "transforms/set_temporary_address_space.h"

#include "core/model/lookup.h"
#include "core/order/address_spaces.h"
#include "core/order/reordered.h"
#include "core/rewrite/staging.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel set_temporary_address_space(const Kernel& k, const std::vector<std::string>& names,
                                   AddressSpace space, Proof proof) {
  Kernel out = k;
  for (const std::string& name : names) {
    require_temporary(k, name);
    out.temporaries.at(name).space = space;
  }
  for (const std::string& name : names)
    for (const auto& [other, t] : out.temporaries)
      if (const std::string& base = t.base_storage;
          !base.empty() && base == out.temporaries.at(name).base_storage && t.space != space)
        refuse("bad-base", k.at,
               "`{}` shares the memory `{}` with `{}`, which does not move; name both", name, base,
               other);
  const OwnCopies own(out);
  if (space == AddressSpace::Private)
    for (const std::string& name : names)
      if (!own.per_item(name) && own.own_axes(name).empty())
        refuse(
            "not-private", k.at,
            "`{}` is written at the number of its work-item, as memory that the work-items share; "
            "it cannot be private",
            name);
  return reordered(k, std::move(out), proof);
}

extern const Op set_temporary_address_space_op;
const Op set_temporary_address_space_op{
    .name = "set_temporary_address_space",
    .doc = R"(Moves temporaries to another memory.

`private`: each work-item has its own; `local`: a work-group shares it; `global`: all share it, and it
lives from kernel to kernel; `auto`: what the temporary's use suggests.

A `private` array may have axes along work-items, as `row[p, i]` with `i` along `l.0`, where each
work-item accesses its own elements alone: it keeps only these.

Refuses memory in which work-items would meet where each had its own, private memory for what is
written at a work-item's number and read at another one's, and to move one of several that share
memory away from the others.)",
    .params = {{.name = "temp_var_names",
                .kind = Kind::Names,
                .help = "the temporaries",
                .required = true,
                .positional = true},
               {.name = "address_space",
                .kind = Kind::Str,
                .help = "`private`, `local`, `global` or `auto`",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel turn(a: float64[16], b: float64[16])
domain {[i]: 0 <= i < 16}
domain {[j]: 0 <= j < 16}
temp t: float64[16]
t[i] = a[i]
b[j] = t[15 - j]
)",
    .example = R"(knl = lp.set_temporary_address_space(knl, "t", "local")
knl = lp.tag_inames(knl, "i:l.0, j:l.0"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return set_temporary_address_space(k, a.names("temp_var_names"),
                                             parse_address_space(a.str("address_space"), a.at()),
                                             a.proof());
        },
    .query = {},
};

}  // namespace moonloop
