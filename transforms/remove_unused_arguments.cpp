#include "transforms/remove_unused_arguments.h"

#include <algorithm>
#include <utility>

#include "core/model/domain.h"
#include "core/model/original_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

void collect(const std::optional<Exprs>& all, std::set<std::string>& out) {
  if (!all) return;
  for (const Expr& e : *all) collect_reads(e, out);
}

std::set<std::string> used_names(const Kernel& k) {
  std::set<std::string> out;
  for (const InsnPtr& insn : k.instructions) {
    out.merge(reads(k, *insn));
    out.merge(writes(*insn));
  }
  for (const Rule& r : k.rules) collect_reads(r.body, out);
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params()) out.insert(p);
  for (const auto& [name, t] : k.temporaries) collect(t.shape, out), collect(t.strides, out);
  for (const Claim& c : k.claims) out.insert(c.names.begin(), c.names.end());
  for (bool more = true; std::exchange(more, false);)
    for (const Argument& a : k.args) {
      if (!out.contains(a.name)) continue;
      const std::size_t before = out.size();
      collect(a.shape, out);
      collect(a.strides, out);
      if (a.offset) collect_reads(a.offset, out);
      if (a.original_layout) collect(a.original_layout->index, out);
      more = more || out.size() > before;
    }
  return out;
}

}  // namespace

Kernel remove_unused_arguments(const Kernel& k) {
  const std::set<std::string> used = used_names(k);
  Kernel out = k;
  std::set<std::string> gone;
  for (const Argument& a : k.args)
    if (!used.contains(a.name)) gone.insert(a.name);
  if (gone.empty()) return k;
  erase_if(out.args, [&](const Argument& a) { return gone.contains(a.name); });
  if (out.assumptions) {
    for (const std::string& name : gone) {
      const int p = isl_set_find_dim_by_name(out.assumptions.get(), isl_dim_param, name.c_str());
      if (p >= 0)
        out.assumptions =
            isl_set_project_out(out.assumptions.take(), isl_dim_param, unsigned(p), 1);
    }
    if (yes(isl_set_plain_is_universe(out.assumptions.get()))) out.assumptions = {};
  }
  return out;
}

extern const Op remove_unused_arguments_op;
const Op remove_unused_arguments_op{
    .name = "remove_unused_arguments",
    .doc = R"(Takes away the arguments that the kernel does not use.

An argument is used that an instruction, a rule, a loop bound, a claim or the shape, strides or offset of an
array in use name. What was assumed of a number that goes is forgotten.)",
    .params = {},
    .example_kernel = R"(kernel fill(n: int32, m: int32, a: float64[n], b: float64[m])
domain {[i]: 0 <= i < n}
a[i] = 1
)",
    .example = R"(knl = lp.remove_unused_arguments(knl))",
    .run = [](const Kernel& k, const Args&) { return remove_unused_arguments(k); },
    .query = {},
};

}  // namespace moonloop
