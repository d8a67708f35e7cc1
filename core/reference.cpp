#include "core/reference.h"

#include "core/address_spaces.h"
#include "core/order_reference.h"

namespace moonloop {

Kernel keep_reference(const Kernel& before, Kernel after) {
  after.reference = reference_of(before);
  return after;
}

Kernel rebase(Kernel k) {
  k.reference = nullptr;
  for (InsnPtr& insn : k.instructions)
    if (!insn->origin.empty() || !insn->origin_id.empty())
      insn = edit(insn, [](Instruction& i) {
        i.origin.clear();
        i.origin_id.clear();
      });
  return k;
}

void compose_origin(Instruction& insn, const std::map<std::string, Expr>& old_in_new,
                    const std::set<std::string>& used) {
  for (auto& [name, e] : insn.origin) e = substitute(e, old_in_new);
  for (const std::string& name : used)
    if (const auto it = old_in_new.find(name); it != old_in_new.end())
      insn.origin.emplace(name, it->second);  // keeps an entry: then `name` is not the reference's
}

Expr origin_of(const Instruction& insn, const std::string& name) {
  const auto it = insn.origin.find(name);
  return it == insn.origin.end() ? var(name) : it->second;
}

// ---- The reference ------------------------------------------------------------------------------

Reference::Reference(Nested nested) : order(std::move(nested)), variables(order.kernel()) {
  const std::size_t n = std::size_t(order.size());
  accesses.resize(n);
  depends_on.resize(n);
  for (std::size_t s = 0; s < n; ++s) {
    accesses[s] = statement_accesses(order.insn(int(s)), variables);
    for (const std::string& d : order.insn(int(s)).depends_on)
      if (const int i = order.find(d); i >= 0) depends_on[s].push_back(i);
  }
  for (const int s : order.by_position())
    for (std::size_t a = 0; a < accesses[std::size_t(s)].size(); ++a)
      by_variable[accesses[std::size_t(s)][a].variable].push_back({s, int(a)});
}

const OwnCopies& Reference::own() const {
  if (!own_) own_.emplace(order.kernel());
  return *own_;
}

}  // namespace moonloop
