#include <algorithm>

#include "core/model/memo.h"
#include "core/order/commuting.h"
#include "core/order/counterexample.h"
#include "core/order/order_reference.h"
#include "core/order/question.h"
#include "core/order/two_instances.h"
#include "core/sets/compose.h"

/// The proof of staging: what stands in for an access inherits its place in the order.
namespace moonloop {
namespace {

/// The statement of `o` that evaluates the instruction `id` at instances with the inames `inames`:
/// the instruction itself, or the update of a reduction in it that binds the others.
int statement_for(const RunOrder& o, const std::string& id,
                  const std::vector<std::string>& inames) {
  const std::set<std::string> wanted(inames.begin(), inames.end());
  const int own = o.find(id);
  if (own < 0) throw InternalError("no statement `" + id + "`");
  if (o.insn(own).inames == wanted) return own;
  const std::string prefix = id + "_update";
  for (int s = 0; s < o.size(); ++s) {
    const Instruction& insn = o.insn(s);
    if (insn.role == ReductionRole::Update && insn.inames == wanted && insn.id.starts_with(prefix))
      return s;
  }
  return own;
}

std::vector<std::string> map_names(const Map& m, isl_dim_type type) {
  std::vector<std::string> out;
  for (int i = 0; i < count(isl_map_dim(m.get(), type)); ++i)
    out.push_back(isl_map_get_dim_name(m.get(), type, unsigned(i)));
  return out;
}

/// The map with its dimensions in the order `in`, `out`; names that it lacks are unconstrained,
/// names that are not wanted are projected out.
Map arranged(const Map& m, const std::vector<std::string>& in,
             const std::vector<std::string>& out) {
  const std::vector<std::string> has_in = map_names(m, isl_dim_in),
                                 has_out = map_names(m, isl_dim_out);
  const auto pick = [](const std::vector<std::string>& want, const std::vector<std::string>& has) {
    Map p = universal_map(want, has);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (const auto it = std::find(has.begin(), has.end(), want[i]); it != has.end())
        p = equate(std::move(p), i, std::size_t(it - has.begin()));
    return p;
  };
  Map left = pick(in, has_in);
  left = isl_map_apply_range(left.take(), m.copy());
  return isl_map_apply_range(left.take(), isl_map_reverse(pick(out, has_out).take()));
}

struct Placed {
  const StandIn* s = nullptr;
  int now = 0;     // statement in the new order
  int served = 0;  // statement in the old order
  Map relation;    // { dims of now -> dims of served }
  mutable bool has_rows = false;
  mutable std::optional<std::vector<LinearRows>> rows;  // of its parts, if they are linear
  mutable std::vector<LinearRows> around;  // one that has the points of several parts, and others
};

using Bounds = std::map<std::vector<std::pair<std::size_t, std::int64_t>>, std::int64_t>;

/// By terms, the least constant with which their sum is not negative; without quotients.
Bounds bounds_of(const LinearRows& rows) {
  Bounds out;
  const std::size_t known = rows.dims + rows.params.size();
  const auto add = [&](LinearForm f, std::int64_t sign) {
    for (auto& [v, c] : f.terms) {
      if (v >= known) return;
      c *= sign;
    }
    const auto [it, fresh] = out.try_emplace(std::move(f.terms), sign * f.constant);
    if (!fresh) it->second = std::min(it->second, sign * f.constant);
  };
  for (const LinearForm& f : rows.zero) add(f, 1), add(f, -1);
  for (const LinearForm& f : rows.not_negative) add(f, 1);
  return out;
}

/// The constraints that all parts have, each with the constant that excludes least: the parts of a
/// stencil differ in constants alone.
LinearRows around(const std::vector<LinearRows>& parts) {
  Bounds all = bounds_of(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Bounds more = bounds_of(parts[i]);
    std::erase_if(all, [&](const auto& bound) { return !more.count(bound.first); });
    for (auto& [terms, constant] : all) constant = std::max(constant, more.at(terms));
  }
  LinearRows out;
  out.dims = parts.front().dims;
  out.params = parts.front().params;
  for (const auto& [terms, constant] : all) {
    auto opposite = terms;
    for (auto& [v, c] : opposite) c = -c;
    const auto it = all.find(opposite);
    if (it == all.end() || it->second != -constant)
      out.not_negative.push_back({terms, constant});
    else if (terms < opposite)
      out.zero.push_back({terms, constant});
  }
  return out;
}

class StandInCheck {
 public:
  StandInCheck(const Kernel& before, const Kernel& after, const std::vector<StandIn>& all)
      : was_at_(ordered(before)),
        is_at_(ordered(after)),
        was_(*was_at_),
        is_(*is_at_),
        commuting_(is_.order.kernel()) {
    for (const StandIn& s : all) {
      Placed p;
      p.s = &s;
      p.now = statement_for(is_.order, s.insn, map_names(s.relation, isl_dim_in));
      p.served = statement_for(was_.order, s.served, map_names(s.relation, isl_dim_out));
      p.relation = relation_of(p);
      memo().name(p.relation);  // asked about with each other one
      placed_.push_back(std::move(p));
    }
  }

  void check() {
    for (const Placed& p : placed_)
      for (const Access& a : p.s->accesses) check_others(p, a);
    for (std::size_t i = 0; i < placed_.size(); ++i)
      for (std::size_t j = 0; j < placed_.size(); ++j)
        if (i != j) check_two(placed_[i], placed_[j]);
    for (const Placed& p : placed_) check_use(p);
  }

 private:
  Map relation_of(const Placed& p) const {
    const std::vector<std::string>&now = is_.order.dims(p.now), &served = was_.order.dims(p.served);
    const Set from = is_.order.domain(p.now).all, to = was_.order.domain(p.served).all;
    const auto make = [&] {
      Map m = arranged(p.s->relation, now, served);
      m = isl_map_intersect_domain(m.take(), from.copy());
      return Map(isl_map_intersect_range(m.take(), to.copy()));
    };
    Memo& known = memo();
    if (!known.holds(p.s->relation) || !known.holds(from) || !known.holds(to)) return make();
    return known.made(fmt::format("placed {};{}", fmt::join(now, ","), fmt::join(served, ",")) +
                          known.name(p.s->relation) + known.name(from) + known.name(to),
                      make);
  }

  /// Every other statement that still accesses the variable.
  void check_others(const Placed& p, const Access& a) {
    const auto it = is_.by_variable().find(a.variable);
    if (it == is_.by_variable().end()) return;
    for (const AccessAt& at : it->second) {
      const Access& other = is_.at(at);
      if (!a.write && !other.write) continue;
      if (are_apart(a.field, other.field) || stands_in(at.insn, other)) continue;
      const std::string& id = is_.order.insn(at.insn).id;
      const int w = was_.order.find(id);
      if (w < 0) continue;  // new as well, and not a stand-in: it accesses only new variables
      if (stays_beside(p, at.insn, w) || commute(at.insn, p.now, a.variable)) continue;
      Question q(Question::About::Others);
      q.statement(is_.order, at.insn), q.statement(is_.order, p.now);
      q.statement(was_.order, w), q.statement(was_.order, p.served);
      q.pair(is_.order, at.insn, p.now), q.pair(is_.order, p.now, at.insn);
      q.pair(was_.order, w, p.served), q.pair(was_.order, p.served, w);
      q.accesses(is_, other, at.insn, a, p.now);
      q.relation(p.relation);
      q.ask([&] {
        if (others_plainly_kept(p, a, at.insn, w, other)) return true;
        const auto [same, exact] = conflicts(other, at.insn, a, p.now);
        const Map other_was = same_instance(at.insn, w);
        // { w -> f } for which w runs before something that f serves.
        Map earlier = was_.order.before(w, p.served, is_never_parallel);
        earlier = compose(other_was, std::move(earlier));
        earlier = compose(std::move(earlier), isl_map_reverse(p.relation.copy()));
        demand(at.insn, p.now, {isl_map_intersect(earlier.take(), same.copy()), exact}, other, a,
               p);
        Map later = was_.order.before(p.served, w, is_never_parallel);
        later = compose(p.relation, std::move(later));
        later = compose(std::move(later), isl_map_reverse(other_was.copy()));
        demand(p.now, at.insn,
               {isl_map_intersect(later.take(), isl_map_reverse(same.copy())), exact}, a, other, p);
        return true;
      });
    }
  }

  /// Whether the statement `now`, `w` of the old order, is on the same side of `p` as of what that
  /// serves, in the same loops, whose iterations are one after the other: then each of its
  /// instances keeps its order with `p`, whatever they access.
  bool stays_beside(const Placed& p, int now, int w) const {
    const RunOrder &was = was_.order, &is = is_.order;
    const std::size_t shared = is.common_loops(now, p.now);
    if (now == p.now || w == p.served || was.common_loops(w, p.served) != shared ||
        is.first(now, p.now) != was.first(w, p.served))
      return false;
    for (std::size_t i = 0; i < shared; ++i) {
      const std::string& loop = is.loops(now)[i];
      if (loop != was.loops(w)[i] || is_parallel(is.kernel().tag(loop)) || !keeps_loop(p, loop))
        return false;
    }
    return true;
  }
  /// Whether instances of `p` are in the iteration of a loop that what they serve is in, as their
  /// relation says in so many words.
  bool keeps_loop(const Placed& p, const std::string& loop) const {
    const std::vector<std::string>&now = is_.order.dims(p.now), &served = was_.order.dims(p.served);
    const auto i = std::find(now.begin(), now.end(), loop);
    const auto j = std::find(served.begin(), served.end(), loop);
    if (i == now.end() || j == served.end() || !parts(p)) return false;
    const std::size_t a = std::size_t(i - now.begin()),
                      b = now.size() + std::size_t(j - served.begin());
    const auto says_so = [&](const LinearForm& f) {
      return f.constant == 0 && f.terms.size() == 2 && f.terms[0].first == a &&
             f.terms[1].first == b && f.terms[0].second == -f.terms[1].second;
    };
    return std::all_of(parts(p)->begin(), parts(p)->end(), [&](const LinearRows& part) {
      return std::any_of(part.zero.begin(), part.zero.end(), says_so);
    });
  }

  // ---- Linear constraints, before isl is asked. False says nothing.

  enum Side { kA, kB, kOfA, kOfB };  // two instances of the new order, and those of the old one

  /// Begins a proof about instances of the statements `a` and `b` of the new order that touch one
  /// element; false where they are not linear.
  bool meet(TwoInstances& two, int a, const Access& x, int b, const Access& y) const {
    const RunOrder& o = is_.order;
    if (!two.add(kA, o.dims(a), o.domain(a).all) || !two.add(kB, o.dims(b), o.domain(b).all))
      return false;
    touch_one(two, kA, a, x, kB, b, y);
    return true;
  }
  /// Both touch one element.
  void touch_one(TwoInstances& two, Side first, int a, const Access& x, Side second, int b,
                 const Access& y) const {
    const auto fixed = [&](const std::string& name) { return !varies(name); };
    two.meet(x, two.values(first), y, two.values(second), is_.variables, fixed);
    for (const std::string& i : is_.private_to(x.variable, a, b))
      if (two.values(first).count(i) && two.values(second).count(i))
        if (const auto apart = between(two, first, i, second, i)) two.proof.zero(*apart);
  }
  bool varies(const std::string& name) const {
    return is_.variables.has(name) || is_.order.kernel().find_temporary(name) ||
           is_.order.kernel().has_iname(name) || was_.order.kernel().has_iname(name);
  }
  static std::optional<LinearForm> between(const TwoInstances& two, Side a, const std::string& i,
                                           Side b, const std::string& j) {
    return weighted_sum(1, two.values(b).at(j), -1, two.values(a).at(i));
  }

  /// The instance at `of` of the statement `p.served` is one that the instance at `side` of `p.now`
  /// serves, in this part of the relation.
  bool served_by(TwoInstances& two, Side side, Side of, const Placed& p,
                 const LinearRows& part) const {
    if (!two.add(of, was_.order.dims(p.served), was_.order.domain(p.served).all)) return false;
    std::vector<std::size_t> at = two.places(side);
    at.insert(at.end(), two.places(of).begin(), two.places(of).end());
    two.constrain(part, std::move(at));
    return true;
  }
  /// The constraints of each part of a set; nothing where they are not linear or have data.
  std::optional<std::vector<LinearRows>> rows_of(const Set& points) const {
    std::vector<LinearRows> out;
    for (const BasicSet& part : parts_of(points)) {
      auto rows = linear_rows(part);
      if (!rows || std::any_of(rows->params.begin(), rows->params.end(),
                               [&](const std::string& n) { return varies(n); }))
        return std::nullopt;
      out.push_back(std::move(*rows));
    }
    return out;
  }
  const std::optional<std::vector<LinearRows>>& parts(const Placed& p) const {
    if (std::exchange(p.has_rows, true)) return p.rows;
    p.rows = rows_of(isl_map_wrap(p.relation.copy()));
    const auto alike = [&](const LinearRows& part) {
      return part.params == p.rows->front().params;  // so their forms number the same
    };
    if (p.rows && p.rows->size() > 1 && std::all_of(p.rows->begin(), p.rows->end(), alike))
      p.around.push_back(around(*p.rows));
    return p.rows;
  }
  /// Where an access of a statement is made, in parts; one without constraints where that is not
  /// known.
  std::vector<LinearRows> made(const Access& x, int s) const {
    if (x.when)
      if (const auto where = where_made(is_.order.kernel(), x, is_.order.dims(s)))
        if (auto rows = rows_of(*where)) return std::move(*rows);
    return {LinearRows()};
  }

  /// How much later the instance at `b` is than that at `a`, along the loops that these statements
  /// of `o` share.
  static std::optional<std::vector<LoopLag>> lags(const TwoInstances& two, const RunOrder& o,
                                                  Side a, int s, Side b, int t) {
    std::vector<LoopLag> out;
    for (std::size_t i = 0; i < o.common_loops(s, t); ++i) {
      const std::string& name = o.loops(s)[i];
      auto later = between(two, a, name, b, name);
      if (!later) return std::nullopt;
      out.push_back({std::move(*later), !is_parallel(o.kernel().tag(name)) || o.trusts(name)});
    }
    return out;
  }

  /// Whether instances of `a` and `b` that meet the constraints run in this order now, where those
  /// at `was_a` and `was_b`, of the statements `w` and `v`, did in the old order. `differ`: the
  /// instances are two. `together`: those in one iteration of all loops are known to be in order.
  bool kept(TwoInstances& two, int a, int b, Side was_a, int w, Side was_b, int v, bool differ,
            bool together = false) const {
    const auto old = lags(two, was_.order, was_a, w, was_b, v);
    const auto now = lags(two, is_.order, kA, a, kB, b);
    if (!old || !now) return false;
    std::vector<LinearForm> order;
    for (const LoopLag& l : *old) order.push_back(l.later);
    two.take_in();
    const bool first_was = was_.order.first(w, v);
    const bool first_now = together || is_.order.first(a, b);
    const auto in_order = [&](LinearProof proof) {
      return keeps_order(std::move(proof), order, first_was, *now, first_now) == true;
    };
    if (!differ) return in_order(std::move(two.proof));
    return in_order_if_two(two, kA, kB, in_order);
  }

  /// Whether `in_order` holds of both instances, of one statement, wherever they are two.
  template <class F>
  static bool in_order_if_two(TwoInstances& two, Side a, Side b, const F& in_order) {
    for (std::size_t d = 0; d < two.places(a).size(); ++d) {
      if (two.proof.impossible()) return true;
      const std::size_t x = two.places(a)[d], y = two.places(b)[d];
      for (const std::int64_t sign : {-1, 1}) {
        LinearProof here = two.proof;
        here.not_negative({{{x, -sign}, {y, sign}}, -1});
        if (!in_order(std::move(here))) return false;
      }
      two.proof.zero({{{x, -1}, {y, 1}}, 0});
    }
    return true;
  }

  /// That the statement `now`, `w` of the old order, keeps its order with `p` in both directions.
  bool others_plainly_kept(const Placed& p, const Access& a, int now, int w,
                           const Access& other) const {
    if (!parts(p)) return false;
    const std::vector<LinearRows> in = made(a, p.now);
    return (!p.around.empty() && others_kept_in(p.around, in, p, a, now, w, other)) ||
           others_kept_in(*parts(p), in, p, a, now, w, other);
  }
  /// The same of these parts, where `p` makes its access in one of `in`.
  bool others_kept_in(const std::vector<LinearRows>& parts, const std::vector<LinearRows>& in,
                      const Placed& p, const Access& a, int now, int w, const Access& other) const {
    for (const bool other_first : {true, false})
      for (const LinearRows& part : parts)
        for (const LinearRows& where : in) {
          const Side of = kOfB, same = kOfA;
          const Side mine = other_first ? kB : kA, its = other_first ? kA : kB;
          TwoInstances two;
          if (!(other_first ? meet(two, now, other, p.now, a) : meet(two, p.now, a, now, other)) ||
              !served_by(two, mine, of, p, part) ||
              !two.add(same, was_.order.dims(w), was_.order.domain(w).all))
            return false;
          two.constrain(where, two.places(mine));
          for (const std::string& i : was_.order.dims(w))
            if (two.values(its).count(i))
              if (const auto apart = between(two, its, i, same, i)) two.proof.zero(*apart);
          const bool well = other_first ? kept(two, now, p.now, same, w, of, p.served, false)
                                        : kept(two, p.now, now, of, p.served, same, w, false);
          if (!well) return false;
        }
    return true;
  }

  /// That `p` stays before `q` where what it serves was, and where the caller does not list `q`
  /// first and they stage for one instance.
  bool two_plainly_kept(const Placed& p, const Access& a, const Placed& q, const Access& b) const {
    const bool first = is_.order.first(p.now, q.now);
    if (!parts(p) || !parts(q)) return false;
    const auto pose = [&](TwoInstances& two, const LinearRows& x, const LinearRows& y) {
      return meet(two, p.now, a, q.now, b) && served_by(two, kA, kOfA, p, x) &&
             served_by(two, kB, kOfB, q, y);
    };
    for (const LinearRows& x : *parts(p))
      for (const LinearRows& y : *parts(q)) {
        TwoInstances two, same;
        const bool together =
            &p > &q && p.now != q.now && !first && pose(same, x, y) && in_common(same, p, q);
        if (!pose(two, x, y) ||
            !kept(two, p.now, q.now, kOfA, p.served, kOfB, q.served, p.now == q.now, together))
          return false;
      }
    return true;
  }

  /// Whether all such instances of `p` and `q` in one iteration of the loops that they share now
  /// stage for one instance: `q` for that of `p`.
  bool in_common(TwoInstances& two, const Placed& p, const Placed& q) const {
    const auto now = lags(two, is_.order, kA, p.now, kB, q.now);
    if (!now) return false;
    for (const LoopLag& l : *now) two.proof.zero(l.later);
    two.take_in();
    std::vector<std::size_t> at = two.places(kB);
    at.insert(at.end(), two.places(kOfA).begin(), two.places(kOfA).end());
    for (const Placed& y : placed_) {
      if (y.now != q.now || y.served != p.served || !parts(y)) continue;
      for (const LinearRows& part : *parts(y))
        if (two.implies(part, at)) return true;
    }
    return false;
  }

  /// That what `p` writes is what the statement `use` finds, in this part of their relation: it
  /// runs first, and of other instances that write the element before the use, all come before it.
  /// Those that a user vouches for are not looked at.
  bool use_plainly_kept(const Placed& p, int use, const Access& w, const Access& r,
                        const LinearRows& part) const {
    const RunOrder& o = is_.order;
    for (const std::string& i : o.dims(p.now))
      if (o.trusts(i)) return false;
    const auto serves = [&](TwoInstances& two, Side fetch) {
      std::vector<std::size_t> at = two.places(fetch);
      at.insert(at.end(), two.places(kB).begin(), two.places(kB).end());
      two.constrain(part, std::move(at));
    };
    {
      TwoInstances two;
      if (!meet(two, p.now, w, use, r)) return false;
      serves(two, kA);
      const auto now = lags(two, o, kA, p.now, kB, use);
      if (!now) return false;
      two.take_in();
      if (keeps_order(std::move(two.proof), std::vector<LoopLag>{}, true, *now,
                      o.first(p.now, use)) != true)
        return false;
    }
    if (r.write) return true;
    TwoInstances two;  // another one, the use, and the one that serves the use
    if (!meet(two, p.now, w, use, r) || !two.add(kOfA, o.dims(p.now), o.domain(p.now).all))
      return false;
    touch_one(two, kOfA, p.now, w, kB, use, r);
    serves(two, kOfA);
    const auto before = lags(two, o, kA, p.now, kB, use);
    const auto now = lags(two, o, kA, p.now, kOfA, p.now);
    if (!before || !now) return false;
    two.take_in();
    return in_order_if_two(two, kA, kOfA, [&](LinearProof proof) {
      return keeps_order(std::move(proof), *before, o.first(p.now, use), *now, false) == true;
    });
  }

  /// Two stand-ins keep the order of what they serve. Instances that serve the same instances run
  /// in the order in which the caller lists them.
  void check_two(const Placed& p, const Placed& q) {
    for (const Access& a : p.s->accesses)
      for (const Access& b : q.s->accesses) {
        if (a.variable != b.variable || (!a.write && !b.write)) continue;
        if (are_apart(a.field, b.field) || commute(p.now, q.now, a.variable)) continue;
        Question question(Question::About::Two);
        question.statement(is_.order, p.now), question.statement(is_.order, q.now);
        question.statement(was_.order, p.served), question.statement(was_.order, q.served);
        question.pair(is_.order, p.now, q.now), question.pair(was_.order, p.served, q.served);
        question.accesses(is_, a, p.now, b, q.now);
        question.relation(p.relation), question.relation(q.relation);
        question.flag(&p > &q);
        for_each_together(p, q, [&](const Placed& x, const Placed& y) {
          question.relation(x.relation), question.relation(y.relation);
        });
        question.ask([&] {
          if (two_plainly_kept(p, a, q, b)) return true;
          const auto [same, exact] = conflicts(a, p.now, b, q.now);
          Map order = was_.order.before(p.served, q.served, is_never_parallel);
          order = compose(p.relation, std::move(order));
          order = compose(std::move(order), isl_map_reverse(q.relation.copy()));
          if (&p > &q) order = isl_map_subtract(order.take(), together(p, q).take());
          Map pairs = isl_map_intersect(order.take(), same.copy());
          if (p.now == q.now) {  // one instance in place of several
            Map same_instance = isl_map_identity(isl_map_get_space(pairs.get()));
            pairs = isl_map_subtract(pairs.take(), same_instance.take());
          }
          demand(p.now, q.now, {std::move(pairs), exact}, a, b, p);
          return true;
        });
      }
  }

  /// Those in the places of `p` and `q` that stage for one statement.
  template <class F>
  void for_each_together(const Placed& p, const Placed& q, F f) const {
    for (const Placed& x : placed_)
      for (const Placed& y : placed_)
        if (x.now == p.now && y.now == q.now && y.served == x.served) f(x, y);
  }

  /// { f -> g : they stage for a common instance of some statement }.
  Map together(const Placed& p, const Placed& q) {
    Map out = isl_map_empty(
        isl_map_get_space(universal_map(is_.order.dims(p.now), is_.order.dims(q.now)).get()));
    for_each_together(p, q, [&](const Placed& x, const Placed& y) {
      Map m = compose(x.relation, isl_map_reverse(y.relation.copy()));
      out = isl_map_union(out.take(), m.take());
    });
    return out;
  }

  /// What `p` writes into a temporary that the served statement now reads or writes: it runs first,
  /// and no other instance of it that writes the same element comes before such a read.
  void check_use(const Placed& p) {
    if (is_.order.find(p.s->served) < 0) return;  // it is gone: its work is done elsewhere
    const int use = statement_for(is_.order, p.s->served, map_names(p.s->relation, isl_dim_out));
    if (use == p.now) return;
    const auto& made = is_.accesses[std::size_t(p.now)];
    const auto& used = is_.accesses[std::size_t(use)];
    for (const Access& w : made) {
      if (!w.write || !is_.variables.is_temporary(w.variable)) continue;
      if (was_.variables.has(w.variable)) continue;
      for (const Access& r : used) {
        if (r.variable == w.variable) check_access(p, use, w, r);
      }
    }
  }

  void check_access(const Placed& p, int use, const Access& w, const Access& r) {
    const RunOrder& o = is_.order;
    Question q(r.write ? Question::About::Written : Question::About::Read);
    q.statement(o, p.now), q.statement(o, use);
    q.pair(o, p.now, use), q.pair(o, use, p.now);
    q.accesses(is_, w, p.now, r, use);
    q.names(map_names(p.s->relation, isl_dim_in));
    q.names(map_names(p.s->relation, isl_dim_out));
    q.relation(p.s->relation);
    q.ask([&] {
      prove_access(p, use, w, r);
      return true;
    });
  }

  void prove_access(const Placed& p, int use, const Access& w, const Access& r) {
    const RunOrder& o = is_.order;
    const Map relation = arranged(p.s->relation, o.dims(p.now), o.dims(use));
    const std::optional<std::vector<LinearRows>> in = rows_of(isl_map_wrap(relation.copy()));
    const bool plain = in && std::all_of(in->begin(), in->end(), [&](const LinearRows& part) {
                         return use_plainly_kept(p, use, w, r, part);
                       });
    if (plain && !memo().compares) return;
    try {
      prove_use(p, use, w, r, relation);
    } catch (const Refused&) {
      ensure(!plain, "a use that is shown without isl to find its value does");
      throw;
    }
  }

  void prove_use(const Placed& p, int use, const Access& w, const Access& r, const Map& relation) {
    const RunOrder& o = is_.order;
    ApproximateMap serves{relation};
    serves.intersect_domain(o.domain(p.now));
    serves.intersect_range(o.domain(use));
    const ApproximateMap same = conflicts(w, p.now, r, use);
    const Map fetched = isl_map_intersect(serves.all.copy(), same.all.copy());
    const bool exact = serves.exact && same.exact;
    demand(p.now, use, {fetched, exact}, w, r, p);
    if (r.write) return;
    // { f' -> g }: f' overwrites between the fetch f and the use g.
    Map others = isl_map_intersect(o.before(p.now, use, is_parallel).take(), same.all.copy());
    others = isl_map_intersect_domain(others.take(), o.domain(p.now).all.take());
    others = isl_map_intersect_range(others.take(), o.domain(use).all.take());
    // Within the same elements and instances, those fetched are those of the relation, which has
    // fewer constraints to subtract one by one.
    others = isl_map_subtract(others.take(), relation.copy());
    // f' must run before the f that serves the same use.
    Map pairs = compose(std::move(others), isl_map_reverse(fetched.copy()));
    Map kept = o.before(p.now, p.now, is_parallel);
    if (yes(isl_map_is_subset(pairs.get(), kept.get()))) return;
    const Map stale = isl_map_subtract(pairs.take(), kept.take());
    refuse_stale(p.now, p.now, stale, w, w, exact, p);
  }

  /// { instances of `s` -> instances of `t` that touch the same element }; iterations that have a
  /// temporary to themselves have elements of their own.
  ApproximateMap conflicts(const Access& x, int s, const Access& y, int t) const {
    const auto &ds = is_.order.dims(s), &dt = is_.order.dims(t);
    const Kernel& k = is_.order.kernel();
    ApproximateMap out = meetings(k, k, is_.variables, x, ds, y, dt);
    for (const std::string& i : is_.private_to(x.variable, s, t)) {
      const auto at_s = std::find(ds.begin(), ds.end(), i),
                 at_t = std::find(dt.begin(), dt.end(), i);
      if (at_s != ds.end() && at_t != dt.end())
        out.all = equate(std::move(out.all), std::size_t(at_s - ds.begin()),
                         std::size_t(at_t - dt.begin()));
    }
    return out;
  }

  /// Whether both are atomic updates that leave the same in either order.
  bool commute(int s, int t, const std::string& variable) {
    const RunOrder& o = is_.order;
    return commuting_.commute(o.insn(s), o.insn(t), variable);
  }

  /// Whether two fields of a record have nothing in common.
  static bool are_apart(const std::string& a, const std::string& b) {
    return !covers_field(a, b) && !covers_field(b, a);
  }

  /// Whether the statement makes this access in the place of another one.
  bool stands_in(int s, const Access& access) const {
    const auto same = [&](const Access& a) {
      return a.variable == access.variable && a.write == access.write &&
             equal(a.index, access.index);
    };
    return std::any_of(placed_.begin(), placed_.end(), [&](const Placed& p) {
      return p.now == s && std::any_of(p.s->accesses.begin(), p.s->accesses.end(), same);
    });
  }

  /// { instance in the new order -> the same one in the old order }.
  Map same_instance(int now, int was) const {
    const auto &x = is_.order.dims(now), &y = was_.order.dims(was);
    Map m = universal_map(x, y);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const auto it = std::find(y.begin(), y.end(), x[i]); it != y.end())
        m = equate(std::move(m), i, std::size_t(it - y.begin()));
    m = isl_map_intersect_domain(m.take(), is_.order.domain(now).all.take());
    return isl_map_intersect_range(m.take(), was_.order.domain(was).all.take());
  }

  void demand(int a, int b, ApproximateMap wanted, const Access& x, const Access& y,
              const Placed& p) {
    Map pairs = isl_map_intersect_domain(wanted.all.take(), is_.order.domain(a).all.take());
    pairs = isl_map_intersect_range(pairs.take(), is_.order.domain(b).all.take());
    Map kept = is_.order.before(a, b, is_parallel);
    if (yes(isl_map_is_subset(pairs.get(), kept.get()))) return;
    const Map bad = isl_map_subtract(pairs.take(), kept.take());
    refuse_stale(a, b, bad, x, y, wanted.exact, p);
  }

  [[noreturn]] void refuse_stale(int a, int b, const Map& bad, const Access& x, const Access& y,
                                 bool exact, const Placed& p) const {
    const RunOrder& o = is_.order;
    const Witness w = witness(bad, o.dims(a), o.dims(b));
    std::map<std::string, std::int64_t> at = w.params;
    at.insert(w.a.begin(), w.a.end());
    const std::string first = instance_text(o.insn(a).id, o.dims(a), w.a);
    const std::string second = instance_text(o.insn(b).id, o.dims(b), w.b);
    Diagnostic d;
    d.code = exact ? "stale-value" : "not-proved";
    d.text = fmt::format("{} {} {}, which {} {}; {} must run before {}, and with `{}` it {}{}",
                         first, x.write ? "writes" : "reads", element_text(x, at), second,
                         y.write ? "writes" : "reads", first, second, o.insn(p.now).id,
                         exact ? "does not" : "may not", parameters_text(w.params));
    d.where = {o.insn(a).at, {}};
    if (o.insn(b).at) d.notes.push_back({o.insn(b).at, fmt::format("`{}` is here", o.insn(b).id)});
    const auto instance = [&](int s, const auto& values, const Access& does) {
      return CounterexampleInstance{
          o.insn(s).id, o.dims(s), values_at(o.dims(s), values),
          fmt::format("{} {}", does.write ? "writes" : "reads", element_text(x, at)),
          o.domain(s).all};
    };
    throw RefusedByCounterexample(d, {instance(a, w.a, x), instance(b, w.b, y), w.params});
  }

  std::shared_ptr<const Reference> was_at_, is_at_;
  const Reference &was_, &is_;
  CommutingUpdates commuting_;
  std::vector<Placed> placed_;
};

}  // namespace

void check_stand_ins(const Kernel& before, const Kernel& after, const std::vector<StandIn>& all) {
  StandInCheck(before, after, all).check();
  check_kept_order(before, after);
}

}  // namespace moonloop
