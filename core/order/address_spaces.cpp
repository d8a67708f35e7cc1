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
  find_own_axes(k);
}

namespace {

/// The places of work-items that a subscript names: the axis of the group, and the number of the
/// first one.
struct Places {
  int axis = -1;
  std::int64_t first = 0;
  bool operator==(const Places&) const = default;
};

/// What all accesses say of an axis: nothing yet, the same places, or not only such.
struct Axis {
  std::optional<Places> places;
  bool seen = false, items = false;  // whether some access has another number of a work-item

  void meet(const std::optional<Places>& at, bool has_items) {
    if (!seen) places = at;
    if (places != at) places.reset();
    seen = true;
    items |= has_items;
  }
};

/// Nothing where the first value of the iname depends on parameters.
std::optional<Places> places_of(const Kernel& k, const std::string& iname) {
  const InameTag* tag = k.tag(iname);
  if (!tag || tag->kind != TagKind::Local) return {};
  const PwAff first = isl_set_dim_min(domain_of(k, {iname}).take(), 0);
  if (isl_pw_aff_n_piece(first.get()) != 1 || !yes(isl_pw_aff_is_cst(first.get()))) return {};
  const Val v = isl_pw_aff_max_val(first.copy());
  if (!yes(isl_val_is_int(v.get()))) return {};
  return Places{tag->axis, to_int(v)};
}

}  // namespace

void OwnCopies::find_own_axes(const Kernel& k) {
  std::map<std::string, std::vector<Axis>> all;
  for (const auto& [name, t] : k.temporaries)
    if (t.space == AddressSpace::Private && private_.count(name) && !items_.count(name) &&
        t.shape && !t.initializer && t.base_storage.empty())
      all[name].resize(t.shape->size());
  if (all.empty()) return;
  for (const auto& [name, tag] : k.iname_tags)
    if (tag.kind == TagKind::Local) item_axis_[name] = tag.axis;
  std::map<std::string, std::optional<Places>> known;
  const auto places = [&](const Expr& e) -> std::optional<Places> {
    const auto* v = e.as<Var>();
    if (!v || !k.has_iname(v->name)) return {};
    const auto [at, is_new] = known.try_emplace(v->name);
    if (is_new) at->second = places_of(k, v->name);
    return at->second;
  };
  const auto has_items = [&](const Expr& e) {
    std::set<std::string> names;
    collect_vars(e, names);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& n) { return is_work_item(k.tag(n)); });
  };
  const auto look = [&](const Expr& e) {
    walk(expand_rules(k, e), [&](const Expr& x) {
      const auto* l = x.as<Load>();
      const auto* v = x.as<Var>();
      const auto of = l || v ? all.find(l ? l->array : v->name) : all.end();
      if (of == all.end()) return true;
      for (std::size_t d = 0; d < of->second.size(); ++d)
        if (l && !l->linear && l->index.size() == of->second.size())
          of->second[d].meet(places(l->index[d]), has_items(l->index[d]));
        else
          of->second[d].meet({}, true);
      return true;
    });
  };
  for (const InsnPtr& i : k.instructions) {
    for (const Expr& e : i->lhs) look(e);
    if (i->rhs) look(i->rhs);
    for (const Expr& e : i->predicates) look(e);
  }
  for (const auto& [name, axes] : all) {
    OwnAxes own;
    bool right = true;
    for (const Axis& a : axes) {
      own.axes.push_back(a.places.has_value());
      right &= a.places || !a.items;
      if (a.places) right &= own.of_items.insert(a.places->axis).second;
    }
    if (right) own_axes_.emplace(name, std::move(own));
  }
}

std::vector<bool> OwnCopies::own_axes(const std::string& temporary) const {
  const auto it = own_axes_.find(temporary);
  return it == own_axes_.end() ? std::vector<bool>() : it->second.axes;
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
  if (!lanes_.count(iname)) {
    const auto own = own_axes_.find(temporary);
    const auto axis = item_axis_.find(iname);
    return per_item(temporary) || (own != own_axes_.end() && axis != item_axis_.end() &&
                                   !own->second.of_items.count(axis->second));
  }
  const auto it = shared_.find(iname);
  return private_.count(temporary) && (it == shared_.end() || !it->second.count(temporary));
}

}  // namespace moonloop
