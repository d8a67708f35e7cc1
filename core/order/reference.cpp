#include "core/order/reference.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "core/order/address_spaces.h"
#include "core/order/order_reference.h"

namespace moonloop {

Kernel keep_reference(const Kernel& before, Kernel after) {
  after.reference = reference_of(before);
  return after;
}

Kernel rebase(Kernel k) {
  k.reference = nullptr;
  std::optional<std::set<std::string>> present;
  for (InsnPtr& insn : k.instructions) {
    if (insn->origin.empty() && insn->origin_id.empty()) continue;
    if (!present) {
      const std::vector<std::string> all = k.inames();
      present.emplace(all.begin(), all.end());
    }
    const auto stands = [&](const auto& entry) { return present->count(entry.first) > 0; };
    if (insn->origin_id.empty() && std::none_of(insn->origin.begin(), insn->origin.end(), stands))
      continue;
    insn = edit(insn, [&](Instruction& i) {
      std::erase_if(i.origin, stands);
      i.origin_id.clear();
    });
  }
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

namespace {

/// The first characters of a name as a number of the same order.
std::uint64_t beginning_of(const std::string& name) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i)
    out = out << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0);
  return out;
}

}  // namespace

Reference::Reference(Nested nested) : order(std::move(nested)), variables(order.kernel()) {
  const std::size_t n = std::size_t(order.size());
  accesses.reserve(n);
  for (std::size_t s = 0; s < n; ++s)
    accesses.push_back(statement_accesses(order.insn(int(s)), variables));
}

const ByVariable& Reference::by_variable() const {
  if (!by_variable_) by_variable_ = find_by_variable();
  return *by_variable_;
}

ByVariable Reference::find_by_variable() const {
  NameIndex numbers(accesses.size());
  std::vector<const std::string*> names;
  std::vector<int> group_of;  // of the accesses, in order of execution
  std::vector<std::size_t> sizes;
  for (const int s : order.by_position()) {
    const AccessList& list = accesses[std::size_t(s)];
    std::size_t a = 0;
    for (const Access& x : list) {
      const int g = numbers.add(x.variable, list.hash(a++), int(sizes.size()));
      if (g == int(sizes.size())) sizes.push_back(0), names.push_back(&x.variable);
      ++sizes[std::size_t(g)];
      group_of.push_back(g);
    }
  }
  std::vector<std::vector<AccessAt>> groups(sizes.size());
  for (std::size_t g = 0; g < sizes.size(); ++g) groups[g].reserve(sizes[g]);
  std::size_t next = 0;
  for (const int s : order.by_position())
    for (std::size_t a = 0, n = accesses[std::size_t(s)].size(); a < n; ++a)
      groups[std::size_t(group_of[next++])].push_back({s, int(a)});
  std::vector<std::pair<std::uint64_t, std::size_t>> by_name;
  by_name.reserve(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) by_name.emplace_back(beginning_of(*names[g]), g);
  std::sort(by_name.begin(), by_name.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *names[a.second] < *names[b.second];
  });
  ByVariable out;
  out.reserve(groups.size());
  for (const auto& [beginning, g] : by_name) out.append(*names[g], std::move(groups[g]));
  return out;
}

std::vector<ByVariable::Entry>::const_iterator ByVariable::find(std::string_view variable) const {
  const auto it = std::lower_bound(begin(), end(), variable,
                                   [](const Entry& e, std::string_view v) { return e.first < v; });
  return it != end() && it->first == variable ? it : end();
}

const std::vector<AccessAt>& ByVariable::at(std::string_view variable) const {
  const auto it = find(variable);
  ensure(it != end(), "accesses of a variable that nothing accesses");
  return it->second;
}

const OwnCopies& Reference::own() const {
  if (!own_) own_.emplace(order.kernel());
  return *own_;
}

}  // namespace moonloop
