#include "codegen/meetings.h"

#include <algorithm>

#include "core/match.h"
#include "core/order.h"

namespace moonloop {
namespace {

/// Some subscript is one number here and another one there.
bool other_elements(const Exprs& a, const Exprs& b) {
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d) {
    const auto x = as_int(a[d]), y = as_int(b[d]);
    if (x && y && *x != *y) return true;
  }
  return false;
}

}  // namespace

Meetings::Meetings(const Plan& plan) : plan_(plan), k_(plan.kernel), domains_(plan.kernel) {
  for (const auto& [iname, h] : plan.hardware) axes_.insert({h.group, h.axis});
  for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
    const Instruction& insn = *k_.instructions[i];
    std::vector<Touch> own;
    const auto add = [&](Touch t) {
      const Argument* a = k_.find_arg(t.variable);
      if (a && !a->is_array) return;
      if (plan.lies_in(t.variable, AddressSpace::Private)) return;
      if (const Temporary* c = k_.find_temporary(t.variable); c && c->read_only) return;
      own.push_back(std::move(t));
    };
    const bool atomic = insn.atomic == Atomicity::Update;
    for (Access& a : accesses_of(insn, k_)) {
      if (insn.role == ReductionRole::Update && a.write)  // reads what it accumulates into
        add({static_cast<int>(i), a.variable, false, atomic, a.index});
      add({static_cast<int>(i), a.variable, a.write, atomic, std::move(a.index)});
    }
    touches_.push_back(std::move(own));
  }
}

/// The iname of the instruction that the axis counts; empty: it has none.
std::string Meetings::iname_on(int i, const Axis& axis) const {
  for (const std::string& name : insn(i).inames)
    if (const auto h = plan_.hardware.find(name); h != plan_.hardware.end())
      if (h->second.group == axis.group && h->second.axis == axis.number) return name;
  return "";
}

bool Meetings::runs_in_first_alone(int i, const Axis& axis) const {
  if (!iname_on(i, axis).empty()) return false;
  const std::vector<Touch>& all = touches(i);
  return std::any_of(all.begin(), all.end(), [&](const Touch& t) {
    const bool per_group = axis.group && plan_.lies_in(t.variable, AddressSpace::Local);
    return t.write && !per_group;
  });
}

Expr Meetings::position(int i, const Axis& axis) const {
  if (const std::string name = iname_on(i, axis); !name.empty())
    return index_sub(var(name), plan_.hardware.at(name).first);
  return runs_in_first_alone(i, axis) ? lit(0) : Expr();
}

/// Equal subscripts that hold the iname of every axis, the same for both.
bool Meetings::own_element(const Touch& x, const Touch& y, bool groups) const {
  if (!equal(x.index, y.index)) return false;
  return std::all_of(axes_.begin(), axes_.end(), [&](const Axis& axis) {
    if (axis.group != groups) return true;
    const std::string n = iname_on(x.insn, axis);
    if (n.empty() || n != iname_on(y.insn, axis)) return false;
    return std::any_of(x.index.begin(), x.index.end(), [&](const Expr& e) {
      const auto* v = e.as<Var>();
      return v && v->name == n;
    });
  });
}

std::optional<Map> Meetings::meet(const Touch& x, const Touch& y,
                                  const std::vector<std::string>& same, const std::string& carried,
                                  bool groups) {
  if (x.variable != y.variable || (!x.write && !y.write) || (x.atomic && y.atomic))
    return std::nullopt;
  if (own_element(x, y, groups) || other_elements(x.index, y.index)) return std::nullopt;
  const auto dims = [&](int i) {
    return std::vector<std::string>(insn(i).inames.begin(), insn(i).inames.end());
  };
  const std::vector<std::string> from = dims(x.insn), to = dims(y.insn);
  const auto points = [&](int i, const std::vector<std::string>& names) {
    const Domains::Predicates p = domains_.predicates(insn(i), names);
    return p.points ? intersect(domains_.of(names), p.points) : domains_.of(names);
  };
  const auto pairs_with_equal = [&](const Exprs& a, const Exprs& b) -> std::optional<Map> {
    const auto f = to_map(a, from), g = to_map(b, to);
    if (!f || !g) return std::nullopt;
    return Map(isl_map_apply_range(f->copy(), isl_map_reverse(g->copy())));
  };
  // Not affine, or a scalar: any two instances may meet.
  Map pairs = isl_map_from_domain_and_range(points(x.insn, from).take(), points(y.insn, to).take());
  if (const auto met = pairs_with_equal(x.index, y.index))
    pairs = isl_map_intersect(pairs.take(), met->copy());
  const auto at = [](const std::vector<std::string>& all, const std::string& n) {
    return static_cast<int>(std::find(all.begin(), all.end(), n) - all.begin());
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& n) {
    return std::find(all.begin(), all.end(), n) != all.end();
  };
  for (const std::string& n : same)
    if (has(from, n) && has(to, n))
      pairs = isl_map_equate(pairs.take(), isl_dim_in, at(from, n), isl_dim_out, at(to, n));
  if (!carried.empty() && (!has(from, carried) || !has(to, carried))) return std::nullopt;
  if (!carried.empty())
    pairs =
        isl_map_order_lt(pairs.take(), isl_dim_in, at(from, carried), isl_dim_out, at(to, carried));
  bool anywhere = false;  // one of the two runs in every work-item (group)
  Exprs a, b;
  for (const Axis& axis : axes_) {
    const Expr p = position(x.insn, axis), q = position(y.insn, axis);
    if (axis.group == groups) {
      if (p && q) {
        a.push_back(p), b.push_back(q);
      } else {
        anywhere = true;
      }
    } else if (!groups && p && q) {  // in the same group
      if (const auto equal = pairs_with_equal({p}, {q}))
        pairs = isl_map_intersect(pairs.take(), equal->copy());
    }
  }
  if (yes(isl_map_is_empty(pairs.get()))) return std::nullopt;
  if (anywhere) return pairs;
  if (a.empty()) return std::nullopt;  // there is one work-item (group)
  const auto equal = pairs_with_equal(a, b);
  if (!equal) return pairs;
  pairs = isl_map_subtract(pairs.take(), equal->copy());
  if (yes(isl_map_is_empty(pairs.get()))) return std::nullopt;
  return pairs;
}

std::optional<Map> Meetings::across_groups(const Touch& x, const Touch& y,
                                           const std::vector<std::string>& same,
                                           const std::string& carried) {
  if (plan_.lies_in(x.variable, AddressSpace::Local)) return std::nullopt;
  return unless_claimed(x, y, meet(x, y, same, carried, true), "global");
}

std::optional<Map> Meetings::across_items(const Touch& x, const Touch& y,
                                          const std::vector<std::string>& same,
                                          const std::string& carried) {
  return unless_claimed(x, y, meet(x, y, same, carried, false), "local");
}

namespace {

bool claims_none(const Instruction& a, const Instruction& b, const std::string& scope) {
  return std::any_of(a.no_sync.begin(), a.no_sync.end(), [&](const NoSync& n) {
    return (n.scope == "any" || n.scope == scope) && glob_match(n.id, b.id);
  });
}

}  // namespace

/// `nosync` stands for what is not known, such as indirect subscripts; it is refused where a
/// barrier is known to be needed.
std::optional<Map> Meetings::unless_claimed(const Touch& x, const Touch& y,
                                            std::optional<Map> pairs, const std::string& scope) {
  const Instruction &a = insn(x.insn), &b = insn(y.insn);
  if (!pairs || (!claims_none(a, b, scope) && !claims_none(b, a, scope))) return pairs;
  const auto known = [&](const Touch& t) {
    const std::vector<std::string> dims(insn(t.insn).inames.begin(), insn(t.insn).inames.end());
    return to_map(t.index, dims) && domains_.predicates(insn(t.insn), dims).rest.empty();
  };
  if (!known(x) || !known(y)) return std::nullopt;
  refuse("needed-barrier", b.at ? b.at : a.at,
         "`{}` and `{}` are said to need no barrier between them, but {}", a.id, b.id,
         describe(x, y, *pairs));
}

std::string Meetings::describe(const Touch& x, const Touch& y, const Map& pairs) const {
  const auto dims = [&](int i) {
    return std::vector<std::string>(insn(i).inames.begin(), insn(i).inames.end());
  };
  const Witness w = witness(pairs, dims(x.insn), dims(y.insn));
  std::map<std::string, std::int64_t> values = w.params;
  values.insert(w.a.begin(), w.a.end());
  return fmt::format(
      "{} {} {}, {} {} it", instance_text(insn(x.insn).id, dims(x.insn), w.a),
      x.write ? "writes" : "reads", element_text({x.variable, x.write, x.index, {}}, values),
      instance_text(insn(y.insn).id, dims(y.insn), w.b), y.write ? "writes" : "reads");
}

}  // namespace moonloop
