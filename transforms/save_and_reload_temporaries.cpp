#include "transforms/save_and_reload_temporaries.h"

#include <algorithm>
#include <map>

#include "core/order/address_spaces.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "transforms/registry.h"
#include "transforms/temporary_axes.h"

namespace moonloop {
namespace {

/// Where a temporary is used, in parts of the program between global barriers.
struct Uses {
  std::set<int> parts;
  std::vector<const Instruction*> insns;
};

std::map<std::string, Uses> uses_of(const Kernel& k) {
  std::map<std::string, Uses> out;
  const Nested nested = nest(k);
  const RunOrder order(nested);
  const Variables variables(order.kernel());
  int part = 0;
  for (const int s : order.by_position()) {
    const Instruction& insn = order.insn(s);
    if (insn.kind == InsnKind::Barrier && insn.barrier == BarrierScope::Global) ++part;
    std::set<std::string> names = writes(insn);
    for_each_name_read(order.kernel(), variables, insn,
                       [&](const std::string& n) { names.insert(n); });
    const Instruction* own = k.find_insn(insn.id);  // none for the statements of a reduction
    for (const std::string& n : names) {
      if (!k.find_temporary(n)) continue;
      out[n].parts.insert(part);
      if (own) out[n].insns.push_back(own);
    }
  }
  return out;
}

}  // namespace

Kernel save_and_reload_temporaries(const Kernel& k) {
  std::map<std::string, std::vector<std::string>> wanted;
  std::vector<std::string> kept;
  for (const auto& [name, uses] : uses_of(k)) {
    const Temporary& t = *k.find_temporary(name);
    if (uses.parts.size() < 2 || t.space == AddressSpace::Global || t.read_only) continue;
    kept.push_back(name);
    const bool own = OwnCopies(k).per_item(name);
    std::set<std::string> inames;  // around some use
    for (const Instruction* insn : uses.insns)
      for (const std::string& i : insn->inames)
        if (const InameTag* tag = k.tag(i);
            tag && (tag->kind == TagKind::Group || (own && is_work_item(tag))))
          inames.insert(i);
    if (inames.empty()) continue;
    std::vector<std::string>& axes = wanted[name];
    axes.assign(inames.begin(), inames.end());
    // Neighbouring work-items are adjacent: `l.0` last, groups outside.
    const auto rank = [&](const std::string& i) {
      const InameTag& tag = *k.tag(i);
      return std::pair(tag.kind != TagKind::Group, -tag.axis);
    };
    std::stable_sort(axes.begin(), axes.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }
  Kernel out =
      wanted.empty() ? rebase(k) : with_axes(k, wanted, "compute it again after the barrier");
  for (const std::string& name : kept) {
    Temporary& t = out.temporaries.at(name);
    t.space = AddressSpace::Global;
    t.base_storage.clear();  // it outlives those that it shared memory with
  }
  return proved(std::move(out));
}

extern const Op save_and_reload_temporaries_op;
const Op save_and_reload_temporaries_op{
    .name = "save_and_reload_temporaries",
    .doc = R"(Keeps the values of temporaries that live across a global barrier in global memory.

There the next kernel finds them: each work-item's own get an axis for each `g.N` and `l.N` iname around
them, each group's own one for each `g.N`. Temporaries that are used on one side of each barrier only stay
as they are.

Refuses a temporary that some instruction uses outside of such an iname, or in which an iteration finds
what another one wrote; inames whose number of values is computed in the kernel; temporaries with
initial values, strides or flat subscripts.)",
    .params = {},
    .example_kernel = R"(kernel halves(n, a: float32[n], b: float32[n])
domain [n] -> {[i]: 0 <= i < n}
tag i: g.0
<> t = 2*a[i]
... gbarrier  {inames=i}
b[i] = t + 1
)",
    .example = R"(knl = lp.save_and_reload_temporaries(knl)
assert(tostring(knl):find("b[i] = t[i] + 1", 1, true)))",
    .run = [](const Kernel& k, const Args&) { return save_and_reload_temporaries(k); },
    .query = {},
};

}  // namespace moonloop
