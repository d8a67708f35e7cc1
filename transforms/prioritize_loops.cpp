#include "transforms/prioritize_loops.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/reordered.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel prioritize_loops(const Kernel& k, const std::vector<std::string>& loop_priority,
                        Proof proof) {
  std::set<std::string> seen;
  for (const std::string& iname : loop_priority) {
    require_iname(k, iname);
    if (!seen.insert(iname).second)
      refuse("bad-priority", k.at, "`{}` occurs twice in the priority {}", iname,
             quoted_list(loop_priority));
  }
  Kernel out = k;
  for (std::vector<std::string>& chain : out.priorities) {  // the later demand counts
    std::vector<std::string> both;
    for (const std::string& iname : loop_priority)
      if (std::find(chain.begin(), chain.end(), iname) != chain.end()) both.push_back(iname);
    auto next = both.begin();
    for (std::string& iname : chain)
      if (seen.contains(iname)) iname = *next++;
  }
  if (loop_priority.size() > 1 && std::find(out.priorities.begin(), out.priorities.end(),
                                            loop_priority) == out.priorities.end())
    out.priorities.push_back(loop_priority);
  return reordered(k, std::move(out), proof);
}

extern const Op prioritize_loops_op;
const Op prioritize_loops_op{
    .name = "prioritize_loops",
    .doc = R"(Demands that loops nest in the given order, outer to inner, wherever they meet.

Demands of several calls add up, and hold for all later steps; where two of them contradict, the later
one holds.

Refuses an order in which some dependence would run backwards, with two instances, and demands that
no nest satisfies.)",
    .params = {{.name = "loop_priority",
                .kind = Kind::Names,
                .help = "inames, outer to inner",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel transpose(n: int32, a: float64[n, n], c: float64[n, n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
c[i, j] = a[j, i]
)",
    .example = R"(knl = lp.prioritize_loops(knl, "j, i"))",
    .run = [](const Kernel& k,
              const Args& a) { return prioritize_loops(k, a.names("loop_priority"), a.proof()); },
    .query = {},
};

}  // namespace moonloop
