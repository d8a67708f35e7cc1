#include "codegen/plan/spaces.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/order/address_spaces.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {

bool has_any_size(const Temporary& t) {
  return t.shape && std::any_of(t.shape->begin(), t.shape->end(),
                                [](const Expr& extent) { return !as_int(extent); });
}

namespace {

/// Whether the number of the group tells the elements apart that the instruction writes: those of
/// different groups never meet, as in `t[g, i]`, but not in `t[i - g]`. Where that is not known
/// it does.
bool chooses_element(const Kernel& k, const Instruction& insn, const Expr& target,
                     const std::string& group) {
  const Expr* place = &target;
  while (const auto* f = place->as<Field>()) place = &f->base;
  const auto* l = place->as<Load>();
  if (!l) return true;
  for (const Expr& e : l->index)
    if (const auto* v = e.as<Var>(); v && v->name == group) return true;
  const std::vector<std::string> dims(insn.inames.begin(), insn.inames.end());
  try {
    const IslBudget budget(kQuestionOperations);
    const std::optional<Map> value = to_map(l->index, dims);
    if (!value) return true;
    const Set domain = without_computed(k, domain_of(k, dims)).all;
    Map same = isl_map_intersect_domain(value->copy(), domain.copy());
    same = isl_map_apply_range(same.copy(), isl_map_reverse(same.copy()));
    const auto at = std::size_t(std::find(dims.begin(), dims.end(), group) - dims.begin());
    return yes(isl_map_is_empty(order_lt(same, at, at).get()));
  } catch (const IslQuota&) { return true; }
}

/// Arrays whose size only the caller knows and that no group and no work-item of several uses: the
/// one that does has them in the device's memory.
std::set<std::string> arrays_of_one_item(const Kernel& k) {
  std::set<std::string> out;
  for (const auto& [name, t] : k.temporaries)
    if (has_any_size(t)) out.insert(name);
  for (const InsnPtr& i : k.instructions) {
    if (out.empty()) break;
    const bool spread = std::any_of(i->inames.begin(), i->inames.end(), [&](const std::string& n) {
      const InameTag* t = k.tag(n);
      return t && (t->kind == TagKind::Group || is_work_item(t));
    });
    if (!spread) continue;
    for (const std::string& w : writes(*i)) out.erase(w);
    for_each_read(k, *i, [&](const std::string& n) { out.erase(n); });
  }
  return out;
}

}  // namespace

std::map<std::string, AddressSpace> spaces_of(const Kernel& k) {
  std::map<std::string, AddressSpace> out;
  const OwnCopies own(k);
  std::set<std::string> by_group, by_item;
  for (const InsnPtr& i : k.instructions)
    for (const Expr& target : i->lhs) {
      const bool items = std::any_of(i->inames.begin(), i->inames.end(),
                                     [&](const std::string& n) { return is_work_item(k.tag(n)); });
      if (items) by_item.insert(written_name(target));
      std::set<std::string> names;
      collect_vars(target, names);
      for (const std::string& n : names)
        if (const InameTag* t = k.tag(n); t && t->kind == TagKind::Group)
          if (const Temporary* w = k.find_temporary(written_name(target));
              w && w->space == AddressSpace::Auto && chooses_element(k, *i, target, n))
            by_group.insert(w->name);
    }
  // Values written with global memory outside of all groups are written only in the first group.
  if (std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                  [](const auto& t) { return t.second.kind == TagKind::Group; }))
    for (const InsnPtr& i : k.instructions) {
      const bool in_group = std::any_of(i->inames.begin(), i->inames.end(), [&](const auto& n) {
        const InameTag* t = k.tag(n);
        return t && t->kind == TagKind::Group;
      });
      const bool global = std::any_of(i->lhs.begin(), i->lhs.end(), [&](const Expr& l) {
        const Temporary* t = k.find_temporary(written_name(l));
        return !t || t->space == AddressSpace::Global;
      });
      if (i->lhs.size() > 1 && !in_group && global)
        for (const Expr& l : i->lhs) by_group.insert(written_name(l));
    }
  const std::set<std::string> of_one = arrays_of_one_item(k);
  for (const auto& [name, t] : k.temporaries) {
    AddressSpace space = t.space;
    if (space == AddressSpace::Auto && of_one.contains(name)) space = AddressSpace::Global;
    if (space == AddressSpace::Private && !own.per_item(name))
      fail("unsupported", t.at ? t.at : k.at,
           "`{}` is private, but written at the number of its work-item, as memory that they share",
           name);
    if (space == AddressSpace::Auto)
      space = own.per_item(name) && (by_item.count(name) || !by_group.count(name))
                  ? AddressSpace::Private
              : by_group.count(name) ? AddressSpace::Global
                                     : AddressSpace::Local;
    out.emplace(name, space);
  }
  return out;
}

void require_same_items(const Plan& plan) {
  const Kernel& k = plan.kernel;
  std::map<std::string, std::set<std::pair<bool, int>>> axes;  // of its writers
  std::set<const Instruction*> reduced;                        // all have their results
  for (const GroupReduction& r : plan.reductions)
    reduced.insert(k.instructions[static_cast<std::size_t>(r.update)].get());
  const auto axes_of = [&](const Instruction& insn, bool items) {
    std::set<std::pair<bool, int>> out;
    for (const std::string& n : insn.inames)
      if (const auto h = plan.hardware.find(n);
          h != plan.hardware.end() && (items || h->second.group))
        out.emplace(h->second.group, h->second.axis);
    return out;
  };
  for (const InsnPtr& insn : k.instructions)
    for (const std::string& w : writes(*insn))
      if (const auto s = plan.spaces.find(w);
          s != plan.spaces.end() && s->second != AddressSpace::Global && !reduced.count(insn.get()))
        axes[w].merge(axes_of(*insn, s->second == AddressSpace::Private));
  // A statement that writes to shared memory outside of some axis runs only in its first place.
  std::set<std::pair<bool, int>> every;
  for (const auto& [name, h] : plan.hardware) every.emplace(h.group, h.axis);
  const auto shares = [&](const Instruction& insn) {
    return std::any_of(insn.lhs.begin(), insn.lhs.end(), [&](const Expr& l) {
      const auto s = plan.spaces.find(written_name(l));
      return s == plan.spaces.end() || s->second != AddressSpace::Private;
    });
  };
  std::map<std::string, std::set<std::pair<bool, int>>> alone;  // private ones written there
  for (const InsnPtr& insn : k.instructions)
    if (insn->lhs.size() > 1 && shares(*insn) && axes_of(*insn, true) != every)
      for (const std::string& w : writes(*insn))
        if (plan.lies_in(w, AddressSpace::Private)) alone.emplace(w, axes_of(*insn, true));
  const Variables variables(k);
  for (const InsnPtr& insn : k.instructions) {
    const auto own = axes_of(*insn, true);
    std::set<std::string> names = writes(*insn);
    for_each_name_read(k, variables, *insn, [&](const std::string& n) { names.insert(n); });
    for (const std::string& n : names) {
      const auto in_one = alone.find(n);
      if (in_one != alone.end() && (!shares(*insn) || own != in_one->second))
        fail("unsupported", insn->at,
             "instruction `{0}` uses `{1}`, which is private, but written by one work-item alone, "
             "beside memory that all share; set_temporary_address_space(\"{1}\", \"global\") "
             "makes it one for all",
             insn->id, n);
      if (const auto it = axes.find(n);
          it != axes.end() &&
          !std::includes(own.begin(), own.end(), it->second.begin(), it->second.end()))
        fail("unsupported", insn->at,
             "instruction `{0}` uses `{1}`, of which each {2} has its own, but is not spread over "
             "the same ones; set_temporary_address_space(\"{1}\", \"global\") makes it one for all",
             insn->id, n, plan.spaces.at(n) == AddressSpace::Private ? "work-item" : "group");
    }
  }
}

}  // namespace moonloop
