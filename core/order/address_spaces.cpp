#include "core/order/address_spaces.h"

#include <algorithm>
#include <vector>

#include "core/order/order.h"

namespace moonloop {
namespace {

/// The names in the subscripts of an assignee, without those by which these are read from arrays.
std::set<std::string> direct_numbers(const Expr& target) {
  std::set<std::string> out;
  const auto* element = target.as<Load>();
  if (const auto* f = target.as<Field>()) return direct_numbers(f->base);
  if (!element) return out;
  for (const Expr& index : element->index)
    walk(index, [&](const Expr& e) {
      if (const auto* v = e.as<Var>()) out.insert(v->name);
      return !e.as<Load>();
    });
  return out;
}

}  // namespace

OwnCopies::OwnCopies(const Kernel& k) {
  for (const auto& [name, tag] : k.iname_tags)
    if (is_lane(&tag)) lanes_.insert(name);
  for (const auto& [name, t] : k.temporaries)
    if (t.space == AddressSpace::Auto || t.space == AddressSpace::Private) private_.insert(name);
  items_ = private_;
  for (const InsnPtr& i : k.instructions)
    for (const Expr& target : i->lhs) {
      const std::string& name = written_name(target);
      if (!private_.count(name)) continue;
      std::set<std::string> used;
      collect_vars(target, used);
      const bool said = k.find_temporary(name)->space == AddressSpace::Private;
      const std::set<std::string> numbers = said ? direct_numbers(expand_rules(k, target)) : used;
      for (const std::string& n : used) {
        if (!i->inames.count(n)) continue;
        if (lanes_.count(n)) shared_[n].insert(name);
        if (numbers.count(n) && is_work_item(k.tag(n))) items_.erase(name);
      }
    }
  share_by_pairs(k);
}

/// An instruction outside of the work-items that writes to shared memory runs in one of them; what
/// else it writes has to be shared too, unless all its readers run in that one as well.
void OwnCopies::share_by_pairs(const Kernel& k) {
  if (std::all_of(k.instructions.begin(), k.instructions.end(),
                  [](const InsnPtr& i) { return i->lhs.size() < 2; }) ||
      std::none_of(k.iname_tags.begin(), k.iname_tags.end(),
                   [](const auto& t) { return is_work_item(&t.second); }))
    return;
  const auto alone = [&](const Instruction& i) {
    return std::none_of(i.inames.begin(), i.inames.end(),
                        [&](const std::string& n) { return is_work_item(k.tag(n)); }) &&
           std::any_of(i.lhs.begin(), i.lhs.end(),
                       [&](const Expr& l) { return items_.count(written_name(l)) == 0; });
  };
  std::map<std::string, std::vector<const Instruction*>> readers;
  std::set<std::string> bounds;
  for (const InsnPtr& i : k.instructions)
    for (const std::string& n : reads(k, *i)) readers[n].push_back(i.get());
  for (const Domain& d : k.domains)
    for (std::string& p : d.params()) bounds.insert(std::move(p));
  for (bool changed = true; changed;) {
    changed = false;
    for (const InsnPtr& i : k.instructions) {
      if (i->lhs.size() < 2 || !alone(*i)) continue;
      for (const Expr& l : i->lhs) {
        const std::string& name = written_name(l);
        const Temporary* t = k.find_temporary(name);
        if (!items_.count(name) || t->space != AddressSpace::Auto) continue;
        const auto& users = readers[name];
        if (!bounds.count(name) && std::all_of(users.begin(), users.end(),
                                               [&](const Instruction* u) { return alone(*u); }))
          continue;
        items_.erase(name);
        changed = true;
      }
    }
  }
}

bool OwnCopies::has(const std::string& temporary, const std::string& iname) const {
  if (!lanes_.count(iname)) return per_item(temporary);
  const auto it = shared_.find(iname);
  return private_.count(temporary) && (it == shared_.end() || !it->second.count(temporary));
}

}  // namespace moonloop
