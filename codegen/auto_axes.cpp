#include "codegen/auto_axes.h"

#include <algorithm>
#include <array>

#include "core/domain.h"
#include "core/layout.h"
#include "core/order.h"
#include "core/split_loop.h"

namespace moonloop {
namespace {

constexpr int kAxes = 3;

/// The work-group that `l.N` tags span; 0: an axis that none of them uses.
using Group = std::array<std::int64_t, kAxes>;

std::int64_t length_of(const Kernel& k, const std::string& iname) {
  const auto n = longest(k, iname);
  const InameTag& tag = *k.tag(iname);
  if (!n)
    fail("unsupported", tag.at ? tag.at : k.at,
         "`{}` is tagged `{}`, but its number of iterations has no constant bound", iname,
         tag.text);
  return *n;
}

Group group_of(const Kernel& k) {
  Group out{};
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == TagKind::Local && k.has_iname(iname)) {
      std::int64_t& n = out.at(static_cast<std::size_t>(tag.axis));
      n = std::max(n, length_of(k, iname));
    }
  return out;
}

/// The stride of `iname` in the arguments' memory that `insn` reads or writes: 1 where some access
/// runs along it, more where none does.
std::int64_t stride_of(const Kernel& k, const Instruction& insn, const std::string& iname) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  std::int64_t best = 2 * kFar;
  for (const Access& a : accesses_of(insn, k)) {
    const Argument* array = k.find_arg(a.variable);
    if (!array || !array->is_array || !array->shape || array->shape->size() != a.index.size())
      continue;
    const Exprs strides = strides_of(*array->shape, array->order, array->strides);
    for (std::size_t i = 0; i < a.index.size(); ++i) {
      std::set<std::string> names;
      collect_vars(a.index[i], names);
      if (names.count(iname)) best = std::min(best, as_int(strides[i]).value_or(kFar));
    }
  }
  return best;
}

void set_axis(Kernel& k, const std::string& iname, int axis) {
  InameTag& tag = k.iname_tags.at(iname);
  tag.kind = TagKind::Local;
  tag.axis = axis;
  tag.text = "l." + std::to_string(axis);
}

/// `iname` on `axis` of a work-group with `items` along it.
Kernel place_on(Kernel k, const std::string& iname, int axis, std::int64_t items) {
  if (length_of(k, iname) <= items) {
    set_axis(k, iname, axis);
    return k;
  }
  const InameTag tag = k.iname_tags.at(iname);
  const std::string outer = k.fresh_name(iname + "_outer"), inner = k.fresh_name(iname + "_inner");
  Kernel out = split_loop(k, iname, outer, inner, items, Match());
  out.iname_tags.erase(iname);
  out.iname_tags.insert_or_assign(inner, tag);
  set_axis(out, inner, axis);
  return out;
}

}  // namespace

std::optional<std::int64_t> longest(const Kernel& k, const std::string& iname) {
  bool known = true;  // a guard takes what is computed in the kernel
  const Set s = without_computed(k, domain_of(k, {iname}), known);
  const LocalSpace space = isl_local_space_from_space(isl_set_get_space(s.get()));
  const Set other = isl_set_set_dim_name(s.copy(), isl_dim_set, 0, "other");
  // The largest distance between two points of the same parameters.
  const Map pairs = isl_map_from_domain_and_range(s.copy(), other.copy());
  const Set distances = isl_map_deltas(isl_map_reset_tuple_id(pairs.copy(), isl_dim_in));
  const Aff x = isl_aff_var_on_domain(
      isl_local_space_from_space(isl_set_get_space(distances.get())), isl_dim_set, 0);
  Val most = isl_set_max_val(distances.get(), x.get());
  if (!yes(isl_val_is_int(most.get()))) return std::nullopt;
  return to_int(most) + 1;
}

Kernel assign_automatic_axes(Kernel k) {
  const auto is_auto = [&](const std::string& n) {
    const InameTag* t = k.tag(n);
    return t && t->kind == TagKind::LocalAuto;
  };
  const bool any = std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                               [&](const auto& t) { return is_auto(t.first); });
  if (!any) return k;
  Group group = group_of(k);
  const bool spans_none = group == Group{};
  for (std::size_t i = 0; i < k.instructions.size(); ++i) {
    std::vector<std::string> open;  // innermost first
    std::array<bool, kAxes> used{};
    for (const std::string& n : k.loop_order) {
      if (!k.instructions[i]->inames.count(n)) continue;
      if (is_auto(n)) open.insert(open.begin(), n);
      if (const InameTag* t = k.tag(n); t && t->kind == TagKind::Local)
        used.at(static_cast<std::size_t>(t->axis)) = true;
    }
    const Instruction& insn = *k.instructions[i];
    std::stable_sort(open.begin(), open.end(), [&](const auto& a, const auto& b) {
      return stride_of(k, insn, a) < stride_of(k, insn, b);
    });
    int axis = 0;
    for (const std::string& iname : open) {
      const auto at = [&] { return static_cast<std::size_t>(axis); };
      while (axis < kAxes && (used.at(at()) || (!spans_none && group.at(at()) == 0))) ++axis;
      if (axis == kAxes) {
        k.iname_tags.erase(iname);
        continue;
      }
      if (spans_none) group.at(at()) = std::max(group.at(at()), length_of(k, iname));
      const auto items = group.at(at());
      k = place_on(std::move(k), iname, axis++, items);
    }
  }
  return k;
}

}  // namespace moonloop
