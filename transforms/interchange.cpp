#include "transforms/interchange.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/order_reference.h"
#include "transforms/prioritize_loops.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel interchange(const Kernel& k, const std::string& iname, const std::string& other,
                   Proof proof) {
  require_iname(k, iname);
  require_iname(k, other);
  if (iname == other) refuse("not-nested", k.at, "`{}` is to change places with itself", iname);
  const std::shared_ptr<const RunOrder> order = order_of(k);
  for (int s = 0; s < order->size(); ++s) {
    const std::vector<std::string>& loops = order->loops(s);
    const auto x = std::find(loops.begin(), loops.end(), iname),
               y = std::find(loops.begin(), loops.end(), other);
    if (x == loops.end() || y == loops.end()) continue;
    std::vector<std::string> turned(std::min(x, y), std::max(x, y) + 1);  // the same for all
    std::swap(turned.front(), turned.back());
    return prioritize_loops(k, turned, proof);
  }
  refuse("not-nested", k.at, "no statement is in both loops, `{}` and `{}`", iname, other);
}

extern const Op interchange_op;
const Op interchange_op{
    .name = "interchange",
    .doc = R"(Lets two loops, one inside the other, change places.

Loops between them stay where they are. The order counts from then on as a demand of prioritize_loops
does, which can order more loops at once.

Refuses loops that no statement has in common, an order in which some dependence would run backwards,
with two instances, and an outer loop with statements that are not in the inner one: distribute_loops
gives these a loop of their own.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "one of the loops",
                .required = true,
                .positional = true},
               {.name = "other",
                .kind = Kind::Str,
                .help = "the other one",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel transpose(n: int32, a: float64[n, n], c: float64[n, n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
c[i, j] = a[j, i]
)",
    .example = R"(knl = lp.interchange(knl, "i", "j"))",
    .run = [](const Kernel& k,
              const Args& a) { return interchange(k, a.str("iname"), a.str("other"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
