#include "codegen/plan/auto_axes.h"

#include <algorithm>
#include <array>
#include <map>

#include "codegen/plan/known_values.h"
#include "core/model/domain.h"
#include "core/model/layout.h"
#include "core/order/order.h"
#include "core/rewrite/split_loop.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

constexpr int kAxes = 3;

/// The work-group that `l.N` tags span; null: an axis that none of them uses.
using Group = std::array<Expr, kAxes>;

/// The iterations from the first to the last, at most.
Expr length_of(const Kernel& k, const std::string& iname) {
  if (const auto n = longest(k, iname)) return lit(*n);
  const InameTag& tag = *k.tag(iname);
  const Set all = domain_of(k, {iname});
  const KnownValues known = computed_params(k, all).empty() ? KnownValues() : known_values(k);
  const Set s = without_unknown(k, all, known).all;
  if (!is_bounded(s, 0))
    fail("unsupported", tag.at ? tag.at : k.at,
         "`{0}` is tagged `{1}`, but its number of iterations is not known before the kernel runs; "
         "split_iname(\"{0}\", 32) gives it an inner loop that can be tagged `{1}`",
         iname, tag.text);
  return substitute(
      index_add({range_end(s, false), index_mul(lit(-1), range_end(s, true)), lit(1)}), known);
}

void widen(const Kernel& k, Expr& axis, const Expr& length) {
  axis = axis ? larger(k, axis, length) : length;
}

Group group_of(const Kernel& k) {
  Group out;
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == TagKind::Local && k.has_iname(iname))
      widen(k, out.at(static_cast<std::size_t>(tag.axis)), length_of(k, iname));
  return out;
}

/// The work-group of the instructions that share a loop over groups with one of them, or where it
/// is in none, an array that a group keeps; nothing where these use no axis.
class GroupsOfNests {
 public:
  std::optional<Group> of(const Kernel& k, const Instruction& insn) {
    Group out;
    bool any = false;
    for (const InsnPtr& other : k.instructions) {
      if (!share_groups(k, insn, *other)) continue;
      for (const std::string& iname : other->inames) {
        const InameTag* tag = k.tag(iname);
        if (!tag || tag->kind != TagKind::Local) continue;
        auto& length = lengths_[iname];
        if (!length) length = length_of(k, iname);
        widen(k, out.at(static_cast<std::size_t>(tag->axis)), length);
        any = true;
      }
    }
    return any ? std::optional(out) : std::nullopt;
  }

 private:
  bool share_groups(const Kernel& k, const Instruction& a, const Instruction& b) {
    bool any = false;
    for (const std::string& i : a.inames) {
      const InameTag* tag = k.tag(i);
      if (!tag || tag->kind != TagKind::Group) continue;
      if (b.inames.count(i) > 0) return true;
      any = true;
    }
    return !any && share_array(k, a, b);
  }
  bool share_array(const Kernel& k, const Instruction& a, const Instruction& b) {
    const std::set<std::string>&x = kept(k, a), &y = kept(k, b);
    return std::any_of(x.begin(), x.end(), [&](const std::string& n) { return y.contains(n); });
  }
  const std::set<std::string>& kept(const Kernel& k, const Instruction& insn) {
    const auto [at, is_new] = kept_.try_emplace(insn.id);
    if (!is_new) return at->second;
    for (const Access& access : accesses_of(insn, k)) {
      const Temporary* t = k.find_temporary(access.variable);
      if (t && !access.index.empty() && t->space != AddressSpace::Global)
        at->second.insert(access.variable);
    }
    return at->second;
  }
  std::map<std::string, std::set<std::string>> kept_;  // by instruction
  std::map<std::string, Expr> lengths_;                // a loop with a tag keeps its domain
};

/// Whether all of a loop finds room on the axis, or a part of fixed length.
bool takes(const Kernel& k, const Expr& axis, const std::string& iname) {
  return axis && (as_int(axis) || never_exceeds(k, length_of(k, iname), axis));
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

/// `iname` on `axis` of a work-group with `items` along it, which take it.
Kernel place_on(Kernel k, const std::string& iname, int axis, const Expr& items) {
  if (never_exceeds(k, length_of(k, iname), items)) {
    set_axis(k, iname, axis);
    return k;
  }
  const InameTag tag = k.iname_tags.at(iname);
  const std::string outer = k.fresh_name(iname + "_outer"), inner = k.fresh_name(iname + "_inner");
  Kernel out = split_loop(k, iname, outer, inner, as_int(items).value(), Match());
  out.iname_tags.erase(iname);
  out.iname_tags.insert_or_assign(inner, tag);
  set_axis(out, inner, axis);
  return out;
}

}  // namespace

namespace {

/// The first or the last value of the one dimension of `s`.
PwAff end_of(const Set& s, bool first) {
  const PwAff end = first ? isl_set_dim_min(s.copy(), 0) : isl_set_dim_max(s.copy(), 0);
  return isl_pw_aff_coalesce(end.copy());
}

/// The same without quotients and cases, and so perhaps beyond it; nothing where there is none.
std::optional<PwAff> plain_end_of(const Set& s, bool first) {
  const Set around = isl_set_from_basic_set(isl_set_polyhedral_hull(isl_set_remove_divs(s.copy())));
  if (first ? !has_lower_bound(around, 0) : !has_upper_bound(around, 0)) return std::nullopt;
  return end_of(around, first);
}

}  // namespace

Expr range_end(const Set& s, bool first) {
  constexpr unsigned long kOperations = 100'000;  // of isl, for the end or for one around it
  constexpr int kMostCases = 4;
  std::optional<PwAff> end, plain;
  try {
    const IslBudget budget(kOperations);
    end = end_of(s, first);
    if (count(isl_pw_aff_n_piece(end->get())) <= kMostCases) return from_affine(*end);
  } catch (const IslQuota&) {}  // the plain one will do
  try {
    const IslBudget budget(kOperations);
    plain = plain_end_of(s, first);
  } catch (const IslQuota&) {}  // the exact one remains
  if (plain) return from_affine(*plain);
  return from_affine(end ? *end : end_of(s, first));
}

bool never_exceeds(const Kernel& k, const Expr& a, const Expr& b) {
  const auto x = as_int(a), y = as_int(b);
  if (x && y) return *x <= *y;
  if (equal(a, b)) return true;
  const auto holds = to_condition(Expr(Compare{CompareOp::Le, a, b}), {});
  return holds && yes(isl_set_is_subset(context_of(k).get(), all_to_params(*holds).get()));
}

Expr larger(const Kernel& k, const Expr& a, const Expr& b) {
  if (never_exceeds(k, b, a)) return a;
  return never_exceeds(k, a, b) ? b : call("max", {a, b});
}

std::optional<std::int64_t> longest(const Kernel& k, const std::string& iname) {
  // A guard handles values computed in the kernel.
  const Set s = without_computed(k, domain_of(k, {iname})).all;
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
  Group whole = group_of(k);
  const bool spans_none = std::none_of(whole.begin(), whole.end(),
                                       [](const Expr& items) { return static_cast<bool>(items); });
  std::map<std::string, std::vector<std::size_t>> users;  // instructions, by automatic iname
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    for (const std::string& n : k.instructions[i]->inames)
      if (is_auto(n)) users[n].push_back(i);
  // An axis that another loop has around some instruction of `iname`.
  const auto is_taken = [&](const std::string& iname, int axis) {
    const auto& all = users.at(iname);
    return std::any_of(all.begin(), all.end(), [&](std::size_t i) {
      const auto& inames = k.instructions[i]->inames;
      return std::any_of(inames.begin(), inames.end(), [&](const std::string& n) {
        const InameTag* t = k.tag(n);
        return t && t->kind == TagKind::Local && t->axis == axis;
      });
    });
  };
  GroupsOfNests nests;
  Group nest;
  for (std::size_t i = 0; i < k.instructions.size(); ++i) {
    std::vector<std::string> open;  // innermost first
    for (const std::string& n : k.loop_order)
      if (k.instructions[i]->inames.count(n) && is_auto(n)) open.insert(open.begin(), n);
    const Instruction& insn = *k.instructions[i];
    std::stable_sort(open.begin(), open.end(), [&](const auto& a, const auto& b) {
      return stride_of(k, insn, a) < stride_of(k, insn, b);
    });
    if (open.empty()) continue;
    const std::optional<Group> own_group = nests.of(k, *k.instructions[i]);
    Group& group = own_group ? (nest = *own_group) : whole;
    int axis = 0;
    for (const std::string& iname : open) {
      const auto items = [&]() -> Expr& { return group.at(static_cast<std::size_t>(axis)); };
      while (axis < kAxes && (is_taken(iname, axis) || (!spans_none && !takes(k, items(), iname))))
        ++axis;
      if (axis == kAxes) {
        // Its instructions may need it to be work-items: on an axis of its own, if one is taken.
        int own = 0;
        const auto is_free = [&](int a) {
          return !group.at(static_cast<std::size_t>(a)) && !is_taken(iname, a);
        };
        while (own < kAxes && !is_free(own)) ++own;
        if (users.at(iname).size() > 1 && own < kAxes &&
            (is_taken(iname, 0) || is_taken(iname, 1) || is_taken(iname, 2))) {
          Expr& length = group.at(static_cast<std::size_t>(own));
          widen(k, length, length_of(k, iname));
          k = place_on(std::move(k), iname, own, length);
          continue;
        }
        k.iname_tags.erase(iname);
        continue;
      }
      if (spans_none) widen(k, items(), length_of(k, iname));
      k = place_on(std::move(k), iname, axis, items());
      ++axis;
    }
  }
  return k;
}

}  // namespace moonloop
