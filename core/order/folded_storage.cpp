#include "core/order/folded_storage.h"

#include <algorithm>
#include <array>

#include "core/model/memo.h"
#include "core/model/set_text.h"
#include "core/order/order.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/order/two_instances.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// Orders of three instances that linear constraints are asked about.
constexpr std::size_t kMostCases = 64;

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
          const bool plain = plainly_kept(w, r, x);
          if (plain && !memo().compares) continue;
          if (yes(isl_map_is_empty(overwritten(outer(w), outer(r), outer(x)).get()))) continue;
          const Map bad = overwritten(w, r, x);
          if (yes(isl_map_is_empty(bad.get()))) continue;
          ensure(!plain, "linear constraints show which values are overwritten");
          fail_for(w, r, x, bad);
        }
  }

 private:
  // ---- Linear constraints

  /// Whether linear constraints show that x overwrites no value that w wrote and r reads.
  bool plainly_kept(const View& w, const View& r, const View& x) const {
    TwoInstances all;
    const std::array<const View*, 3> views{&w, &r, &x};
    for (int side = 0; side < 3; ++side)
      if (!all.add(side, views[std::size_t(side)]->dims, views[std::size_t(side)]->domain))
        return false;
    if (!equate_subscripts(all, {0, &w}, {1, &r}) || !equate_subscripts(all, {2, &x}, {1, &r}))
      return false;
    equate_private(all, {0, &w}, {1, &r}, false);
    equate_private(all, {2, &x}, {1, &r}, true);
    const auto written = value_of(all, {2, &x}, axis_), read = value_of(all, {1, &r}, axis_),
               kept = value_of(all, {0, &w}, axis_);
    const auto same = weighted(kept, -1, read), apart = weighted(written, -1, read);
    if (!same || !apart) return false;
    const LinearForm turns{{{all.proof.add_variable(), 1}}, 0};
    const auto folded = weighted_sum(1, *apart, -count_, turns);
    if (!folded) return false;
    all.proof.zero(*same);
    all.proof.zero(*folded);
    all.take_in();
    std::vector<LinearProof> cases;
    for (const std::int64_t sign : {-1, 1}) {
      LinearProof beside = all.proof;
      beside.not_negative({{{turns.terms[0].first, sign}}, -1});
      cases.push_back(std::move(beside));
    }
    return in_order(all, {0, &w}, {1, &r}, false, cases) &&
           in_order(all, {2, &x}, {1, &r}, true, cases) &&
           in_order(all, {0, &w}, {2, &x}, true, cases) && cases.empty();
  }

  struct At {
    int side;
    const View* view;
  };
  static std::optional<LinearForm> weighted(const std::optional<LinearForm>& a, std::int64_t y,
                                            const std::optional<LinearForm>& b) {
    return a && b ? weighted_sum(1, *a, y, *b) : std::nullopt;
  }
  std::optional<LinearForm> value_of(TwoInstances& all, const At& v, int axis) const {
    const Kernel& k = order_.kernel();
    return all.value(v.view->access->index.at(static_cast<std::size_t>(axis)), all.values(v.side),
                     [&](const std::string& name) {
                       return !reference_.variables.has(name) && !k.find_temporary(name) &&
                              !k.has_iname(name);
                     });
  }
  /// Along the other axes, as far as both are linear.
  bool equate_subscripts(TwoInstances& all, const At& x, const At& y) const {
    for (const int axis : x.view->axes) {
      const auto& other = y.view->axes;
      if (axis == axis_ || std::find(other.begin(), other.end(), axis) == other.end()) continue;
      const auto a = value_of(all, x, axis), b = value_of(all, y, axis);
      if (!a || !b) continue;
      const auto d = weighted_sum(1, *a, -1, *b);
      if (!d) return false;
      all.proof.zero(*d);
    }
    return true;
  }
  static std::optional<LinearForm> later(const TwoInstances& all, const At& x, const At& y,
                                         const std::string& iname) {
    const auto a = all.values(x.side).find(iname), b = all.values(y.side).find(iname);
    if (a == all.values(x.side).end() || b == all.values(y.side).end()) return std::nullopt;
    return weighted_sum(1, b->second, -1, a->second);
  }
  void equate_private(TwoInstances& all, const At& x, const At& y, bool folded) const {
    for (const std::string& i :
         reference_.private_to(name_, x.view->statement, y.view->statement)) {
      if (folded && may_share(*x.view, i)) continue;
      if (const auto d = later(all, x, y, i)) all.proof.zero(*d);
    }
  }
  /// Replaces cases by those in which x runs before y, or `or_together` with it, for one statement;
  /// false where some number is too large.
  bool in_order(const TwoInstances& all, const At& x, const At& y, bool or_together,
                std::vector<LinearProof>& cases) const {
    const int a = x.view->statement, b = y.view->statement;
    std::vector<LinearForm> loops;
    for (std::size_t i = 0; i < order_.common_loops(a, b); ++i) {
      auto d = later(all, x, y, order_.loops(a)[i]);
      if (!d) return false;
      loops.push_back(std::move(*d));
    }
    std::vector<LinearProof> out;
    const auto add = [&](LinearProof p) {
      if (!p.impossible()) out.push_back(std::move(p));
    };
    for (LinearProof& p : cases) {
      for (const LinearForm& l : loops) {
        LinearForm beyond = l;
        --beyond.constant;
        LinearProof next = p;
        next.not_negative(beyond);
        add(std::move(next));
        p.zero(l);
      }
      if (order_.first(a, b) || (or_together && a == b)) add(std::move(p));
    }
    cases = std::move(out);
    return cases.size() <= kMostCases;
  }

  // ---- Sets

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
      if (folded && may_share(x, i)) continue;
      const auto a = std::find(x.dims.begin(), x.dims.end(), i);
      const auto b = std::find(y.dims.begin(), y.dims.end(), i);
      if (a != x.dims.end() && b != y.dims.end())
        out = equate(std::move(out), std::size_t(a - x.dims.begin()),
                     std::size_t(b - y.dims.begin()));
    }
    return out;
  }
  /// Whether private elements of different iterations may share memory. The next iteration of a
  /// loop begins when no value of the last one is needed; work-items go on together.
  bool may_share(const View& v, const std::string& iname) const {
    const Names& items = order_.items(v.statement);
    return std::find(items.begin(), items.end(), iname) != items.end() &&
           !reference_.own().has(name_, iname);
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
