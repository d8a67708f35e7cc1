#include "transforms/callee_code.h"

#include <algorithm>
#include <set>

#include "core/base/diagnostic.h"
#include "core/model/call_binding.h"
#include "core/order/check_kernel.h"

namespace moonloop {
namespace {

/// Whether a call gives both the same.
bool is_same(const Kernel& a, const Argument& x, const Kernel& b, const Argument& y) {
  if (x.name != y.name || x.is_array != y.is_array || x.offset || y.offset) return false;
  if (!x.type || !y.type || !(*x.type == *y.type)) return false;
  if (!x.is_array) return true;
  const auto same = [](const Exprs& p, const Exprs& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(), steps_alike);
  };
  return same(*x.shape, *y.shape) && same(*strides_in(a, x.name), *strides_in(b, y.name));
}

}  // namespace

Kernel with_callee_code(const Kernel& k, const std::string& name, const Kernel& code) {
  const auto it = k.callees.find(name);
  if (it == k.callees.end())
    refuse_for(name, "no-match", k.at, "`{}` calls no kernel `{}`", k.name, name);
  const Kernel& meaning = *it->second->meaning;
  if (!code.family || code.family != meaning.family)
    refuse("other-kernel", code.at ? code.at : k.at,
           "`{}`, which `{}` calls, is not what these steps began with", name, k.name);
  Kernel own = complete(code);
  if (!std::equal(
          own.args.begin(), own.args.end(), meaning.args.begin(), meaning.args.end(),
          [&](const Argument& x, const Argument& y) { return is_same(own, x, meaning, y); }))
    refuse("other-argument", code.at, "steps of `{}` change its arguments, and `{}` calls it", name,
           k.name);
  Kernel out = k;
  out.callees[name] = std::make_shared<const CalledKernel>(
      CalledKernel{it->second->meaning, std::make_shared<const Kernel>(std::move(own))});
  return out;
}

std::vector<Kernel> linked(std::vector<Kernel> kernels,
                           const std::function<bool(const Kernel&)>& asked) {
  const auto find = [&](const std::string& name) {
    return std::find_if(kernels.begin(), kernels.end(),
                        [&](const Kernel& k) { return k.name == name; });
  };
  std::set<std::string> done;
  // Callees first: what these call counts, too.
  const std::function<void(Kernel&)> link = [&](Kernel& k) {
    if (!done.insert(k.name).second) return;
    const auto callees = k.callees;
    for (const auto& [name, called] : callees) {
      const auto it = find(name);
      if (it == kernels.end() || it->family != called->meaning->family) continue;
      link(*it);
      const bool own = std::any_of(it->callees.begin(), it->callees.end(),
                                   [](const auto& c) { return c.second->code != nullptr; });
      if (!called->code && (!it->trace.empty() || own)) k = with_callee_code(k, name, *it);
    }
  };
  for (Kernel& k : kernels)
    if (asked(k)) link(k);
  return kernels;
}

}  // namespace moonloop
