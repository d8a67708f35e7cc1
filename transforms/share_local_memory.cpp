#include "core/order/check_kernel.h"
#include "core/order/shared_storage.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// `k` with one base for each of the lists.
Kernel with_bases(const Kernel& k, const std::vector<std::vector<std::string>>& all) {
  Kernel out = k;
  for (const std::vector<std::string>& names : all) {
    const std::string base = out.fresh_name(names.front() + "_storage");
    for (const std::string& n : names) out.temporaries.at(n).base_storage = base;
  }
  return out;
}

bool may_share(const Kernel& k, const std::vector<std::vector<std::string>>& all) {
  try {
    merge_shared_storage(complete(with_bases(k, all)));
  } catch (const Refused&) { return false; }
  return true;
}

Kernel share_local_memory(const Kernel& k, bool in_loops) {
  std::vector<std::vector<std::string>> all = used_by_turns(complete(k), in_loops);
  for (auto& names : all)  // of the kernel itself, not those that completing it made
    std::erase_if(names, [&](const std::string& n) { return !k.find_temporary(n); });
  std::erase_if(all, [](const auto& names) { return names.size() < 2; });
  if (all.empty()) return k;
  if (!may_share(k, all)) std::erase_if(all, [&](const auto& a) { return !may_share(k, {a}); });
  return with_bases(k, all);  // run_op proves that they all may
}

}  // namespace

extern const Op share_local_memory_op;
const Op share_local_memory_op{
    .name = "share_local_memory",
    .doc = R"(Lets arrays of a group that it uses one after the other share local memory.

So the tiles of successive sums need as much local memory as those of one sum. The arrays are of one type
and of constant size, and in the same loops over groups. Without `in_loops` there is no other loop around
two of them: the barrier that the sharing takes is then waited for once, not in each iteration.

As alias_temporaries does for given temporaries; only what is proved to keep all values is done. A kernel
without such arrays stays as it is. Refuses `too-complex` where the proof takes too long, as it may for
arrays in several stages (pipeline).)",
    .params = {{.name = "in_loops",
                .kind = Kind::Bool,
                .help = "also arrays that take turns in each iteration of a loop",
                .fallback = "false"}},
    .example_kernel =
        R"(kernel sums(n: int32, a: float64[n, 64], b: float64[n, 64], c: float64[n, 64])
domain {[i]: 0 <= i < n}
domain {[j, k, p, q]: 0 <= j, k, p, q < 64}
temp s: float64[64]
temp t: float64[64]
tag i: g.0, j: l.0, k: l.0, p: l.0, q: l.0
s[j] = a[i, j]        {inames=i:j}
c[i, k] = s[63 - k]   {inames=i:k}
t[p] = b[i, p]        {inames=i:p}
c[i, q] = c[i, q] + t[63 - q]  {inames=i:q}
)",
    .example = R"(knl = lp.share_local_memory(knl)
assert(tostring(knl):find("base=s_storage", 1, true)))",
    .run = [](const Kernel& k,
              const Args& a) { return share_local_memory(k, a.boolean("in_loops")); },
    .query = {},
};

}  // namespace moonloop
