#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

Kernel alias_temporaries(const Kernel& k, const std::vector<std::string>& names,
                         const std::string& prefix) {
  Kernel out = k;
  const std::string base = k.fresh_name(prefix);
  for (const std::string& n : names) {
    require_temporary(k, n);
    Temporary& t = out.temporaries.at(n);
    if (!t.base_storage.empty())
      refuse("bad-base", k.at, "`{}` has the base `{}` already", n, t.base_storage);
    t.base_storage = base;
  }
  return out;  // as every step with such temporaries, run_op proves that they may
}

}  // namespace

extern const Op alias_temporaries_op;
const Op alias_temporaries_op{
    .name = "alias_temporaries",
    .doc = R"(Lets temporaries share memory: each lives where the others are dead.

They are arrays of one type in one memory, of constant size. The generated code has one array for them,
and on a device the barriers that the sharing takes.

Refuses temporaries of which one is written while a value of another is still needed, with the two
instances, and those that work-items or groups would mix up.)",
    .params = {{.name = "names",
                .kind = Kind::Names,
                .help = "the temporaries",
                .required = true,
                .positional = true},
               {.name = "base_name_prefix",
                .kind = Kind::Str,
                .help = "what the memory is called, as far as that is free",
                .fallback = "\"temp_storage\"",
                .positional = true}},
    .example_kernel = R"(kernel twice(n: int32, a: float64[n, 16], b: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j, k, p, q]: 0 <= j, k, p, q < 16}
temp s: float64[16]
temp t: float64[16]
s[j] = a[i, j]       {inames=i:j}
b[i, k] = s[15 - k]  {inames=i:k}
t[p] = b[i, p] + 1   {inames=i:p}
b[i, q] = t[15 - q]  {inames=i:q}
)",
    .example = R"(knl = lp.alias_temporaries(knl, "s, t")
assert(tostring(knl):find("base=temp_storage", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return alias_temporaries(k, a.names("names"), a.str("base_name_prefix", "temp_storage"));
        },
    .query = {},
};

}  // namespace moonloop
