#include "transforms/get_global_barrier_order.h"

#include "core/order/order.h"
#include "core/order/tree.h"
#include "transforms/registry.h"

namespace moonloop {

std::vector<std::string> get_global_barrier_order(const Kernel& k) {
  const RunOrder order(nest(k));
  std::vector<std::string> out;
  for (const int s : order.by_position()) {
    const Instruction& i = order.insn(s);
    if (i.kind == InsnKind::Barrier && i.barrier == BarrierScope::Global) out.push_back(i.id);
  }
  return out;
}

extern const Op get_global_barrier_order_op;
const Op get_global_barrier_order_op{
    .name = "get_global_barrier_order",
    .doc = R"(Lists the ids of the global barriers in the order in which they are reached.

Barriers in loops are listed where one iteration reaches them. The list may be empty.)",
    .params = {},
    .example_kernel = R"(kernel steps(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = i
... gbarrier {id=cut}
b[j] = a[n - 1 - j]
)",
    .example = R"(assert(lp.get_global_barrier_order(knl)[1] == "cut"))",
    .run = {},
    .query =
        [](const Kernel& k, const Args&) {
          ValueList out;
          for (const std::string& id : get_global_barrier_order(k)) out.push_back(Value{id});
          return Value{std::move(out)};
        },
};

}  // namespace moonloop
