#include "core/order/folded_storage.h"

#include <algorithm>

#include "core/model/set_text.h"
#include "core/order/order.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// An access, over some outer loops of its statement or over all that it is in.
struct View {
  int statement = 0;
  const Access* access = nullptr;
  Names dims;             // the first of the statement's
  Set domain;             // over dims
  Map element;            // { dims -> [subscripts that are affine] }
  std::vector<int> axes;  // of these subscripts
};

class Folding {
 public:
  Folding(const Kernel& k, std::string name, std::size_t axis, std::int64_t count)
      : reference_(nest(k)), name_(std::move(name)), axis_(static_cast<int>(axis)), count_(count) {
    const auto all = reference_.by_variable().find(name_);
    if (all == reference_.by_variable().end()) return;
    for (const AccessAt& at : all->second) {
      View full = view_of(at);
      if (std::find(full.axes.begin(), full.axes.end(), axis_) == full.axes.end())
        refuse("not-affine", order_.insn(at.insn).at,
               "the subscript of `{}` along axis {} in `{}` is not affine in the loops around it",
               name_, axis_, order_.insn(at.insn).id);
      (full.access->write ? writes_ : reads_).push_back(std::move(full));
    }
  }

  void check() const {
    for (const View& w : writes_)
      for (const View& r : reads_)
        for (const View& x : writes_) {
          if (yes(isl_map_is_empty(overwritten(outer(w), outer(r), outer(x)).get()))) continue;
          const Map bad = overwritten(w, r, x);
          if (!yes(isl_map_is_empty(bad.get()))) fail_for(w, r, x, bad);
        }
  }

 private:
  View view_of(const AccessAt& at) const {
    View v;
    v.statement = at.insn;
    v.access = &reference_.at(at);
    v.dims = order_.dims(at.insn);
    v.domain = order_.domain(at.insn).all;
    ElementMap m = element_map(order_.kernel(), *v.access, v.dims, reference_.variables);
    v.element = std::move(m.map);
    v.axes = std::move(m.axes);
    return v;
  }

  /// The view over the loops down to the innermost one that the subscript along the axis has, and
  /// of this subscript alone: it says less.
  View outer(const View& v) const {
    std::set<std::string> used;
    collect_vars(v.access->index.at(static_cast<std::size_t>(axis_)), used);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < v.dims.size(); ++i)
      if (used.contains(v.dims[i])) kept = i + 1;
    View out = v;
    out.dims.resize(kept);
    out.domain = first_dims(v.domain, kept);
    out.element = without(v.element, isl_dim_in, kept);
    const auto at = std::find(v.axes.begin(), v.axes.end(), axis_) - v.axes.begin();
    out.element = without(out.element, isl_dim_out, static_cast<std::size_t>(at) + 1);
    out.element = isl_map_project_out(out.element.take(), isl_dim_out, 0, unsigned(at));
    out.axes = {axis_};
    return out;
  }
  static Set first_dims(const Set& s, std::size_t n) {
    const auto all = static_cast<unsigned>(isl_set_dim(s.get(), isl_dim_set));
    return isl_set_project_out(s.copy(), isl_dim_set, unsigned(n), all - unsigned(n));
  }
  static Map without(const Map& m, isl_dim_type side, std::size_t from) {
    const auto all = static_cast<unsigned>(isl_map_dim(m.get(), side));
    return isl_map_project_out(m.copy(), side, unsigned(from), all - unsigned(from));
  }

  /// { instances of a -> instances of b that run later }, or at the same time for one statement.
  Map before(const View& a, const View& b, bool or_together) const {
    Map m = order_.before(a.statement, b.statement, is_never_parallel);
    if (or_together && a.statement == b.statement) {
      const Names& dims = order_.dims(a.statement);
      Map same = universal_map(dims, dims);
      for (std::size_t i = 0; i < order_.loops(a.statement).size(); ++i)
        same = equate(std::move(same), i, i);
      m = isl_map_union(m.take(), same.take());
    }
    return without(without(m, isl_dim_in, a.dims.size()), isl_dim_out, b.dims.size());
  }

  /// { x -> y : both touch one element }, or elements that would share memory and are not one.
  Map meeting(const View& x, const View& y, bool folded) const {
    std::vector<int> common;
    for (const int a : x.axes)
      if (std::find(y.axes.begin(), y.axes.end(), a) != y.axes.end()) common.push_back(a);
    Names left, right, conditions;
    for (const int a : common) {
      left.push_back(fmt::format("a{}", a));
      right.push_back(fmt::format("b{}", a));
      conditions.push_back(
          folded && a == axis_
              ? fmt::format("(b{0} - a{0}) mod {1} = 0 and a{0} != b{0}", a, count_)
              : fmt::format("a{0} = b{0}", a));
    }
    const Map alike =
        parse_map(fmt::format("{{ [{}] -> [{}] : {} }}", fmt::join(left, ", "),
                              fmt::join(right, ", "), fmt::join(conditions, " and ")));
    const Map there = isl_map_apply_range(on(x, common).take(), alike.copy());
    Map out = isl_map_apply_range(there.copy(), isl_map_reverse(on(y, common).take()));
    for (const std::string& i : reference_.private_to(name_, x.statement, y.statement)) {
      // The next iteration of a loop begins when no value of the last one is needed; work-items go
      // on together.
      if (folded && is_item(x, i) && !reference_.own().has(name_, i)) continue;
      const auto a = std::find(x.dims.begin(), x.dims.end(), i);
      const auto b = std::find(y.dims.begin(), y.dims.end(), i);
      if (a != x.dims.end() && b != y.dims.end())
        out = equate(std::move(out), std::size_t(a - x.dims.begin()),
                     std::size_t(b - y.dims.begin()));
    }
    return out;
  }
  bool is_item(const View& v, const std::string& iname) const {
    const Names& items = order_.items(v.statement);
    return std::find(items.begin(), items.end(), iname) != items.end();
  }
  static Map on(const View& v, const std::vector<int>& axes) {
    Map m = isl_map_intersect_domain(v.element.copy(), v.domain.copy());
    for (std::size_t i = v.axes.size(); i-- > 0;)
      if (std::find(axes.begin(), axes.end(), v.axes[i]) == axes.end())
        m = isl_map_project_out(m.take(), isl_dim_out, unsigned(i), 1);
    return isl_map_reset_tuple_id(m.take(), isl_dim_out);
  }

  /// { x -> r : x writes to the memory of a value that w wrote before and r reads afterwards }.
  Map overwritten(const View& w, const View& r, const View& x) const {
    const Map flow = isl_map_intersect(meeting(w, r, false).take(), before(w, r, false).take());
    const Map after = before(w, x, true);
    Map bad = isl_map_apply_range(isl_map_reverse(after.copy()), flow.copy());
    bad = isl_map_intersect(bad.take(), meeting(x, r, true).take());
    return isl_map_intersect(bad.take(), before(x, r, true).take());
  }

  [[noreturn]] void fail_for(const View& w, const View& r, const View& x, const Map& bad) const {
    const Witness found = witness(bad, x.dims, r.dims);
    std::map<std::string, std::int64_t> at = found.params, there = found.params;
    at.insert(found.a.begin(), found.a.end());
    there.insert(found.b.begin(), found.b.end());
    refuse("shares-memory", order_.insn(x.statement).at,
           "{} writes {}, which would lie in the memory of {}, whose value from `{}` {} still "
           "reads{}",
           instance_text(order_.insn(x.statement).id, x.dims, found.a), element_text(*x.access, at),
           element_text(*r.access, there), order_.insn(w.statement).id,
           instance_text(order_.insn(r.statement).id, r.dims, found.b),
           parameters_text(found.params));
  }

  Reference reference_;
  const RunOrder& order_ = reference_.order;
  std::string name_;
  int axis_;
  std::int64_t count_;
  std::vector<View> writes_, reads_;
};

}  // namespace

void check_folded(const Kernel& k, const std::string& name, std::size_t axis, std::int64_t count) {
  within_budget(k.at, "values stay where elements share memory",
                [&] { Folding(k, name, axis, count).check(); });
}

}  // namespace moonloop
