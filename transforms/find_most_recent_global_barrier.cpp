#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/order/tree.h"
#include "transforms/get_global_barrier_order.h"
#include "transforms/registry.h"

namespace moonloop {

std::optional<std::string> find_most_recent_global_barrier(const Kernel& k, const std::string& id) {
  require_insn(k, id);
  const RunOrder order(nest(k));
  std::optional<std::string> out;
  for (const int s : order.by_position()) {
    const Instruction& i = order.insn(s);
    if (i.id == id) break;
    if (i.kind == InsnKind::Barrier && i.barrier == BarrierScope::Global) out = i.id;
  }
  return out;
}

extern const Op find_most_recent_global_barrier_op;
const Op find_most_recent_global_barrier_op{
    .name = "find_most_recent_global_barrier",
    .doc = R"(Gives the id of the last global barrier that is reached before an instruction, or nil.

Barriers in loops count where one iteration reaches them.)",
    .params = {{.name = "insn_id",
                .kind = Kind::Str,
                .help = "the instruction",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel steps(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = i                  {id=fill}
... gbarrier              {id=cut}
b[j] = a[n - 1 - j]       {id=turn}
)",
    .example = R"(assert(lp.find_most_recent_global_barrier(knl, "turn") == "cut")
assert(lp.find_most_recent_global_barrier(knl, "fill") == nil))",
    .run = {},
    .query =
        [](const Kernel& k, const Args& a) {
          const auto id = find_most_recent_global_barrier(k, a.str("insn_id"));
          return id ? Value{*id} : Value{};
        },
};

}  // namespace moonloop
