#include "frontends/fortran/pointers.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/remapped.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// The pointers that point somewhere, or nowhere by a statement.
using State = Targets;

bool leaves(const Body& body, std::size_t from) {
  bool found = false;
  for (std::size_t i = from; i < body.size(); ++i)
    each({body[i]},
         [&](const Statement& s) { found = found || std::holds_alternative<Leave>(s.what); });
  return found;
}

/// What statements do with a pointer first.
enum class First { Nothing, Uses, Sets };

First first_use(const Body& body, std::size_t from, const std::string& p) {
  for (std::size_t i = from; i < body.size(); ++i) {
    Statement s = body[i];
    bool used = false;
    expressions(s, [&](const Expr& e) { used = used || mentions(e, p); });
    if (used) return First::Uses;
    if (const auto* a = std::get_if<PointerAssignment>(&s.what))
      if (a->pointer == p) return First::Sets;
    if (std::holds_alternative<Leave>(s.what)) return First::Sets;
    // What a statement leaves goes on behind its scope.
    bool all = std::holds_alternative<Scope>(s.what) && !leaves({s}, 0);
    if (const auto* c = std::get_if<Choice>(&s.what)) all = !c->arms.back().condition;
    for (const auto* inner : bodies(s)) {
      const First f = first_use(**inner, 0, p);
      if (f == First::Uses) return f;
      all = all && f == First::Sets;
    }
    if (all) return First::Sets;
  }
  return First::Nothing;
}

bool sets_pointers(Statement x) {
  bool found = std::holds_alternative<PointerAssignment>(x.what);
  for (const auto* inner : bodies(x))
    for (const Statement& s : **inner) found = found || sets_pointers(s);
  return found;
}

/// Nothing after the statement runs.
bool always_leaves(const Statement& s) {
  if (std::holds_alternative<Leave>(s.what)) return true;
  const auto* c = std::get_if<Choice>(&s.what);
  return c && !c->arms.back().condition &&
         std::all_of(c->arms.begin(), c->arms.end(), [](const Choice::Arm& a) {
           return std::any_of(a.body->begin(), a.body->end(), always_leaves);
         });
}

/// Takes the assignments of a variable out.
void drop(const std::string& variable, Body& body) {
  std::erase_if(body, [&](const Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    const auto* v = a ? a->to.as<Var>() : nullptr;
    return v && v->name == variable;
  });
  for (Statement& s : body)
    for (auto* inner : bodies(s)) drop(variable, **inner);
}

class Resolution {
 public:
  /// A pointer is used in other iterations than the one that sets it.
  struct Outlives {
    std::string pointer;
  };

  /// A pointer that points nowhere is used: a program does not get there.
  struct Nowhere {
    Diagnostic why;
    bool set = false;  // to point to nothing
  };

  /// `outlive`: the pointers of which this is known.
  Resolution(Routine& r, std::set<std::string> pointers, std::set<std::string> outlive)
      : r_(r),
        pointers_(std::move(pointers)),
        changed_(changed_in(r.body)),
        outlive_(std::move(outlive)) {
    for (const auto& [name, v] : r.variables)
      if (v.dummy && v.intent == Intent::In && !v.pointer) changed_.erase(name);
    if (calls_of(r.body).empty()) return;
    for (const auto& [name, v] : r.variables)
      if (v.outer) changed_.insert(name);
  }

  void run() {
    Body out;
    Way end;
    end.at = r_.at;
    try {
      follow(r_.body, {{State()}, {}}, end, out);
    } catch (const Nowhere& e) { throw Error(e.why); }
    r_.body.clear();  // what is kept has a value on every way
    for (const auto& [key, e] : kept_) r_.body.push_back({r_.at, Assignment{e, lit(1)}});
    append(std::move(out), r_.body);
  }

 private:
  /// What is known of the pointers at a place: one state, or the several among which a variable
  /// chooses by their numbers.
  struct Known {
    std::vector<State> states;
    std::string which;  // empty for one
  };
  /// Where several ways meet.
  struct Way {
    std::set<std::string> live;  // pointers that may be used from there on
    std::vector<State> states;
    std::string which;
    std::string loop;  // whose variable has another value there
    Span at;

    Known known() const { return {states, states.size() > 1 ? which : std::string()}; }
  };

  /// A construct that statements may leave, as long as the object lives: also where they turn out
  /// to be in a place that the program does not get to.
  class Within {
   public:
    Within(Resolution& r, Way* way, const std::string& loop)
        : r_(r), way_(way), loop_(!loop.empty()) {
      if (way_) r_.around_.push_back(way_);
      if (loop_) r_.loops_.push_back(loop);
    }
    ~Within() {
      if (way_) r_.around_.pop_back();
      if (loop_) r_.loops_.pop_back();
    }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Resolution& r_;
    Way* way_;
    bool loop_;
  };

  Way new_way(const Span& at, std::set<std::string> live) {
    Way w;
    w.live = std::move(live);
    w.at = at;
    w.which = new_scalar(r_, "points", moonloop::Scalar::I32, at).as<Var>()->name;
    return w;
  }

  /// The pointers that statements from `from` on may use, or what comes after them.
  std::set<std::string> live_in(const Body& body, std::size_t from,
                                const std::set<std::string>& after) const {
    std::set<std::string> out;
    const bool away = leaves(body, from);
    for (const std::string& p : pointers_) {
      const First f = first_use(body, from, p);
      bool live = f == First::Uses || (f == First::Nothing && after.count(p));
      if (away)
        for (const Way* w : around_) live = live || w->live.count(p);
      if (live) out.insert(p);
    }
    return out;
  }

  /// The number of the state among those of a way.
  std::int64_t arrive(State s, Way& way) const {
    std::erase_if(s, [&](const auto& x) { return !way.live.count(x.first); });
    if (!way.loop.empty())
      for (auto& [p, t] : s) t.old = t.old || (t.place && mentions_variable(t, way.loop));
    const auto it = std::find(way.states.begin(), way.states.end(), s);
    const std::int64_t number = it - way.states.begin();
    if (it == way.states.end()) way.states.push_back(std::move(s));
    if (way.states.size() > kMostTargets)
      fail("unsupported", way.at,
           "pointers that may point to more than {} targets are not supported in Fortran kernels",
           kMostTargets);
    return number;
  }

  static bool mentions_variable(const Target& t, const std::string& name) {
    return mentions(t.place, name) ||
           std::any_of(t.extents.begin(), t.extents.end(),
                       [&](const Expr& e) { return mentions(e, name); }) ||
           std::any_of(t.lower.begin(), t.lower.end(),
                       [&](const Expr& e) { return mentions(e, name); });
  }

  /// Statements for each of the states.
  template <typename Make>
  static void choose(const Known& k, const Span& at, Body& out, const Make& make) {
    if (k.states.size() == 1) return make(0, out);
    Choice c;
    for (std::size_t n = 0; n < k.states.size(); ++n) {
      auto inner = std::make_shared<Body>();
      make(n, *inner);
      const bool last = n + 1 == k.states.size();
      c.arms.push_back(
          {last ? Expr()
                : Expr(Compare{CompareOp::Eq, var(k.which, at), lit(static_cast<std::int64_t>(n))}),
           std::move(inner)});
    }
    out.push_back({at, std::move(c)});
  }

  /// The same, without the states in which the program does not get there.
  template <typename Make>
  static void choose_where_possible(const Known& k, const Span& at, Body& out, const Make& make) {
    Choice c;
    std::optional<Nowhere> nowhere;
    for (std::size_t n = 0; n < k.states.size(); ++n) try {
        auto inner = std::make_shared<Body>();
        make(n, *inner);
        c.arms.push_back(
            {Expr(Compare{CompareOp::Eq, var(k.which, at), lit(static_cast<std::int64_t>(n))}),
             std::move(inner)});
      } catch (const Nowhere& e) { nowhere = e; }
    if (c.arms.empty()) throw Nowhere(*nowhere);
    if (c.arms.size() == 1) return append(std::move(*c.arms[0].body), out);
    c.arms.back().condition = Expr();
    out.push_back({at, std::move(c)});
  }

  /// An arm of a choice up to where it uses a pointer that points to nothing: the arm's condition
  /// does not hold then.
  template <typename Make>
  static void as_far_as_possible(const Make& make) {
    try {
      make();
    } catch (const Nowhere& e) {
      if (!e.set) throw;
    }
  }

  void go(const Known& k, Way& way, const Span& at, Body& out) const {
    std::vector<std::int64_t> numbers;
    bool stays = k.which == way.which, same = true;
    for (const State& s : k.states) {
      numbers.push_back(arrive(s, way));
      stays = stays && numbers.back() + 1 == std::ssize(numbers);
      same = same && numbers.back() == numbers.front();
    }
    if (way.which.empty() || stays) return;
    const auto set = [&](std::size_t n, Body& to) {
      to.push_back({at, Assignment{var(way.which, at), lit(numbers[n])}});
    };
    if (same) return set(0, out);
    choose(k, at, out, set);
  }

  /// Without the variable where all ways are the same.
  void settle(const Way& way, Body& out) {
    if (way.states.size() > 1) return;
    drop(way.which, out);
    r_.variables.erase(way.which);
  }

  /// The pointers that point elsewhere in other states.
  std::set<std::string> open(const Known& k) const {
    std::set<std::string> out;
    for (const std::string& p : pointers_) {
      const auto first = k.states[0].find(p);
      for (const State& s : k.states) {
        const auto it = s.find(p);
        const bool there = it != s.end(), was = first != k.states[0].end();
        if (there != was || (there && !(it->second == first->second))) out.insert(p);
      }
    }
    return out;
  }

  static bool in_its_expressions(Statement x, const std::set<std::string>& names) {
    bool found = false;
    expressions(x, [&](const Expr& e) {
      for (const std::string& n : names) found = found || mentions(e, n);
    });
    return found;
  }

  /// Statements after `k`, then `way`.
  void follow(const Body& body, Known k, Way& way, Body& out) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      const Statement& x = body[i];
      if (const auto* a = std::get_if<PointerAssignment>(&x.what)) {
        const bool varies = k.states.size() > 1 && in_its_expressions(x, open(k));
        const auto set = [&](std::size_t n, Body& to) { point(*a, x.at, k.states[n], to); };
        if (varies) {
          choose_where_possible(k, x.at, out, set);
        } else {
          set(0, out);
          Body again;  // the same
          for (std::size_t n = 1; n < k.states.size(); ++n) set(n, again);
        }
        continue;
      }
      if (!sets_pointers(x)) {
        plain(x, k, out);
        if (always_leaves(x)) return;
        continue;
      }
      Way end = new_way(x.at, live_in(body, i + 1, way.live));
      Body made;
      if (k.states.size() > 1 && in_its_expressions(x, open(k)))
        choose_where_possible(k, x.at, made, [&](std::size_t n, Body& to) {
          structured(x, {{k.states[n]}, {}}, end, to);
        });
      else
        structured(x, k, end, made);
      settle(end, made);
      append(std::move(made), out);
      if (end.states.empty()) return;  // it is left on every way
      k = end.known();
    }
    go(k, way, r_.at, out);
  }

  void structured(const Statement& x, const Known& k, Way& end, Body& out) {
    if (const auto* d = std::get_if<Do>(&x.what))
      loop(*d, x, k, end, out);
    else
      construct(x, k, end, out);
  }

  /// `if`, `select` or a scope, whose own expressions mean the same in all states.
  void construct(Statement x, const Known& k, Way& end, Body& out) {
    if (!std::holds_alternative<Choice>(x.what) && !std::holds_alternative<Scope>(x.what))
      fail("unsupported", x.at,
           "an assignment to a pointer in this construct is not supported in Fortran kernels");
    put_expressions(x, k.states[0]);
    const auto* c = std::get_if<Choice>(&x.what);
    if (c && c->arms.back().condition) go(k, end, x.at, out);  // none of them
    const Within within(*this, c ? nullptr : &end, {});
    for (auto* inner : bodies(x)) {
      auto made = std::make_shared<Body>();
      const auto all = [&] { follow(**inner, k, end, *made); };
      c ? as_far_as_possible(all) : all();
      *inner = std::move(made);
    }
    out.push_back(std::move(x));
  }

  /// The body for all states at the starts of iterations.
  void loop(Do d, Statement x, const Known& k, Way& end, Body& out) {
    put_expressions(x, k.states[0]);
    d = std::get<Do>(x.what);
    end.live.merge(live_in(*d.body, 0, end.live));
    end.loop = d.variable;
    go(k, end, x.at, out);
    const Within within(*this, &end, d.variable);
    Body made;
    for (std::size_t known = 0; known != end.states.size();) {
      known = end.states.size();
      made.clear();
      follow(*d.body, end.known(), end, made);
    }
    d.body = std::make_shared<Body>(std::move(made));
    out.push_back({x.at, std::move(d)});
  }

  // ---- Single statements.

  /// A statement that sets no pointer.
  void plain(const Statement& x, const Known& k, Body& out) const {
    bool varies = false;
    if (k.states.size() > 1)
      for (const std::string& p : open(k)) varies = varies || mentions(x, p) > 0;
    if (!varies) return put(x, k, 0, out);
    choose_where_possible(k, x.at, out,
                          [&](std::size_t n, Body& to) { put(x, {{k.states[n]}, {}}, 0, to); });
  }

  /// The same in `depth` constructs around.
  void put(Statement x, const Known& k, int depth, Body& out) const {
    const auto* l = std::get_if<Leave>(&x.what);
    if (l && l->kind != Leave::Kind::Return && l->loop >= depth)
      go(k, *around_.at(around_.size() - 1 - static_cast<std::size_t>(l->loop - depth)), x.at, out);
    if (const auto* a = std::get_if<Assignment>(&x.what))
      if (auto rows = assigned_by_rows(*a, k.states[0], r_, x.at)) x.what = *std::move(rows);
    put_expressions(x, k.states[0]);
    if (const auto* f = std::get_if<Forall>(&x.what))
      depth += f->concurrent ? static_cast<int>(f->ranges.size()) : 0;
    depth += std::holds_alternative<Do>(x.what) || std::holds_alternative<Scope>(x.what) ? 1 : 0;
    for (auto* inner : bodies(x)) {
      auto made = std::make_shared<Body>();
      const auto all = [&] {
        for (const Statement& y : **inner) {
          put(y, k, depth, *made);
          if (always_leaves(y)) return;
        }
      };
      std::holds_alternative<Choice>(x.what) ? as_far_as_possible(all) : all();
      *inner = std::move(made);
    }
    out.push_back(std::move(x));
  }

  void put_expressions(Statement& x, const State& s) const {
    if (auto* c = std::get_if<SubroutineCall>(&x.what)) {
      for (const std::size_t n : c->keeps_bounds) pass_pointer(c->arguments.at(n), s, x.at, *c);
      if (c->gives_record)
        for (const Expr& a : c->arguments) check_bounds(a, s, x.at);
      for (Expr& a : c->arguments) a = passed(a, s, x.at);
      for (SubroutineCall& other : c->otherwise)
        for (Expr& a : other.arguments) a = passed(a, s, x.at);
    }
    expressions(x, [&](Expr& e) {
      if (e) e = resolved(e, s, x.at);
    });
  }

  /// A pointer whose axes are others than its target's is passed as the elements from its first on.
  Expr passed(const Expr& e, const State& s, const Span& at) const {
    const auto* v = e ? e.as<Var>() : nullptr;
    const auto it = v && pointers_.count(v->name) ? s.find(v->name) : s.end();
    if (it == s.end() || !it->second.place || it->second.extents.empty()) return e;
    const Target t = target_of(v->name, s, at);
    return from_first(t, variable(t.place), at);
  }

  /// A pointer for one of the callee's, which gets the target, or nothing.
  void pass_pointer(Expr& e, const State& s, const Span& at, SubroutineCall& in) const {
    const auto* v = e.as<Var>();
    if (!v || !pointers_.count(v->name)) return;
    const auto it = s.find(v->name);
    if (it == s.end() || !it->second.place) {
      e = call(kAbsent, {}, at);
      in.otherwise.clear();
    } else {
      check_bounds(e, s, at);
    }
  }
  /// What gets a pointer may be a pointer, too, with the bounds of that one.
  void check_bounds(const Expr& e, const State& s, const Span& at) const {
    const auto* v = e.as<Var>();
    const auto it = v && pointers_.count(v->name) ? s.find(v->name) : s.end();
    if (it == s.end() || !it->second.place) return;
    const Exprs own = lower_bounds(it->second.place);
    const Exprs& lower = it->second.lower;
    if (!same(own, lower))
      fail("unsupported", at,
           "`{}`, whose first subscripts are others than its target's, is not supported in Fortran "
           "kernels as a pointer that is passed to one",
           v->name);
  }

  /// `p => target`: the target with subscripts that stay as they are now.
  void point(const PointerAssignment& a, const Span& at, State& s, Body& out) {
    if (!a.target) {
      s[a.pointer] = {};
      return;
    }
    const auto* itself = a.target.as<Var>();
    if (itself && itself->name == a.pointer && a.lower.empty()) {  // its own memory
      s[a.pointer] = {a.target, lower_bounds(a.target)};
      return;
    }
    Target t;
    const auto* whole = a.target.as<Var>();
    if (whole && pointers_.count(whole->name)) {
      if (const auto it = s.find(whole->name); it != s.end() && !it->second.place) {
        s[a.pointer] = {};
        return;
      }
      t = target_of(whole->name, s, at);
    } else {
      t.place = resolved(a.target, s, at);
      t.lower = lower_bounds(t.place);
    }
    if (!a.upper.empty()) {
      if (t.lower.size() != 1 || !t.extents.empty())
        fail("unsupported", at,
             "an assignment to a pointer that gives it other axes is not supported in Fortran "
             "kernels");
      t.lower.resize(a.lower.size());
      for (std::size_t i = 0; i < a.upper.size(); ++i) {
        const Expr n = length(resolved(a.lower[i], s, at), resolved(a.upper[i], s, at), 1);
        t.extents.push_back(as_int(n) ? n : call("max", {n, lit(0)}, at));
      }
    }
    for (std::size_t i = 0; i < a.lower.size(); ++i) t.lower.at(i) = resolved(a.lower[i], s, at);
    own_ = {a.pointer + "|" + at.str(), a.pointer, 0};
    if (t.place.as<Load>())
      t.place = map_children(t.place, [&](const Expr& i) { return still(i, at, out); });
    for (Expr& e : t.lower) e = still(e, at, out);
    for (Expr& e : t.extents) e = still(e, at, out);
    s[a.pointer] = std::move(t);
  }

  /// The first subscripts of a pointer to this: those of a whole array, 1 of a section.
  Exprs lower_bounds(const Expr& place) const {
    Exprs out;
    if (const auto* l = place.as<Load>()) {
      for (const Expr& i : l->index)
        if (i.as<Slice>()) out.push_back(lit(1));
      return out;
    }
    for (const Bounds& b : variable(place).bounds) out.push_back(first_of(b));
    return out;
  }

  const Variable& variable(const Expr& place) const {
    const auto it = r_.variables.find(written_name(place));
    if (it == r_.variables.end())
      fail("unsupported", place.at(),
           "a pointer to `{}`, which is not a variable of the routine, is not supported in Fortran "
           "kernels",
           written_name(place));
    return it->second;
  }

  /// `e` with variables, of this statement alone, in the places of subscripts that the routine may
  /// change. The variable of a loop around stays where the pointer is not used in other iterations.
  Expr still(const Expr& e, const Span& at, Body& out) {
    if (e.as<Slice>())
      return map_children(e, [&](const Expr& i) { return i ? still(i, at, out) : i; });
    std::set<std::string> names;
    collect_reads(e, names);
    const bool fixed = std::none_of(names.begin(), names.end(), [&](const std::string& n) {
      return changed_.count(n) &&
             !(is_around(n) && is_only_a_loop(n) && !outlive_.count(own_.pointer));
    });
    if (fixed) return e;
    auto [it, added] = kept_.try_emplace(fmt::format("{}|{}", own_.statement, own_.parts++));
    if (added) {
      it->second = new_scalar(r_, own_.pointer + "_at", type_of(e, r_, {}), at);
      changed_.insert(it->second.as<Var>()->name);
    }
    out.push_back({at, Assignment{it->second, e}});
    return it->second;
  }

  /// Whether it is the variable of a loop around.
  bool is_around(const std::string& name) const {
    return std::find(loops_.begin(), loops_.end(), name) != loops_.end();
  }

  /// Whether loops alone assign it.
  bool is_only_a_loop(const std::string& name) const {
    bool other = false;
    each(r_.body, [&](const Statement& s) {
      if (!std::holds_alternative<Do>(s.what))
        other = other || (std::get_if<Assignment>(&s.what)
                              ? written_name(std::get<Assignment>(s.what).to) == name
                              : std::holds_alternative<SubroutineCall>(s.what) &&
                                    changed_in({s}).count(name) != 0);
    });
    return !other;
  }

  Target target_of(const std::string& p, const State& s, const Span& at) const {
    const auto it = s.find(p);
    const bool known = it != s.end();
    if (known && it->second.old && !outlive_.count(p)) throw Outlives{p};
    if (!known || !it->second.place || it->second.old)
      throw Nowhere{
          {"unsupported",
           fmt::format("the pointer `{}`, which {}, is not supported in Fortran kernels", p,
                       !known             ? "points nowhere yet"
                       : it->second.place ? "has the subscripts of another iteration"
                                          : "points to nothing here"),
           {at, {}},
           {},
           {}},
          known && !it->second.place};
    return it->second;
  }

  /// Whether a pointer to `place` is associated with `other`: with the same elements, some of them.
  Expr points_to(const Expr& place, const Expr& other, const Span& at) const {
    const bool known = other.as<Var>() || other.as<Load>();
    if (known && written_name(place) != written_name(other)) return Expr(BoolLit{false}, at);
    if (!known || !equal(place, other))
      fail("unsupported", at,
           "`associated` of two different parts of one array is not supported in Fortran kernels");
    Exprs some;
    for (const Axis& a : axes_of(place, r_))
      some.push_back(Expr(Compare{CompareOp::Gt, length(a.lower, a.upper, a.step), lit(0)}, at));
    return some.empty() ? Expr(BoolLit{true}, at) : conjunction(some);
  }

  Expr resolved(const Expr& e, const State& s, const Span& at) const {
    if (const auto* v = e.as<Var>(); v && pointers_.count(v->name)) {
      const Target t = target_of(v->name, s, at);
      if (t.place.as<Var>() && t.extents.empty()) return t.place;
      return part(t, Exprs(t.lower.size(), Expr(Slice{Expr(), Expr(), lit(1)}, e.at())), e.at());
    }
    if (const auto* l = e.as<Load>(); l && pointers_.count(l->array)) {
      Exprs index;
      for (const Expr& i : l->index) index.push_back(resolved(i, s, at));
      return part(target_of(l->array, s, at), index, e.at());
    }
    const auto* c = e.as<Call>();
    const auto* of = c && !c->args.empty() ? c->args[0].as<Var>() : nullptr;
    if (of && pointers_.count(of->name)) {
      if (c->name == kAssociated) {
        for (const Expr& a : c->args) {
          const auto* v = a.as<Var>();
          const auto it = v ? s.find(v->name) : s.end();
          const bool to_nothing = it == s.end() || !it->second.place;
          if (v && pointers_.count(v->name) && to_nothing) return Expr(BoolLit{false}, e.at());
        }
        if (c->args.size() == 1) return Expr(BoolLit{true}, e.at());
        return points_to(target_of(of->name, s, at).place, resolved(c->args[1], s, at), e.at());
      }
      if (const std::string end = called(e, kBound); !end.empty()) {
        const Target t = target_of(of->name, s, at);
        if (c->args.size() == 2)
          return bound(t, end, static_cast<std::size_t>(*as_int(c->args[1]) - 1), e.at());
        Exprs all;
        for (std::size_t i = 0; i < t.lower.size(); ++i) all.push_back(bound(t, end, i, e.at()));
        return call(kValues, std::move(all), e.at());
      }
    }
    if (const std::string made = called(e, kOfArray); of && !made.empty() && made != "dot_product")
      if (const auto it = s.find(of->name); pointers_.count(of->name) && it != s.end())
        if (const Target& t = it->second; t.place && !t.extents.empty()) {
          Exprs args = c->args;
          args[0] = all_in_one_axis(t, variable(t.place), at);
          return call(c->name, std::move(args), e.at());
        }
    if (!called(e, kFunction).empty() || !called(e, kArrayFunction).empty()) {
      for (const Expr& a : c->args)
        if (const Expr part = passed(a, s, at); part.same_as(a)) check_bounds(a, s, at);
      return map_children(e, [&](const Expr& x) {
        const Expr a = x ? passed(x, s, at) : x;
        return a ? resolved(a, s, at) : a;
      });
    }
    return map_children(e, [&](const Expr& x) { return x ? resolved(x, s, at) : x; });
  }

  /// The slices of a target that is not a whole array, and those of one that is.
  Exprs axes(const Target& t) const {
    if (const auto* l = t.place.as<Load>()) return l->index;
    return Exprs(variable(t.place).bounds.size(), Expr(Slice{Expr(), Expr(), lit(1)}));
  }

  /// The first or last subscript of the target's array along one of its axes.
  Expr end_of(const Target& t, bool first, std::size_t axis, const Span& at) const {
    const Variable& v = variable(t.place);
    if (!first && !v.bounds.at(axis).upper)
      fail("unsupported", at,
           "a pointer along the last axis of `{}`, whose size is assumed, is not supported in "
           "Fortran kernels",
           v.name);
    return first ? first_of(v.bounds.at(axis)) : v.bounds[axis].upper;
  }

  /// The first or last subscript of the pointer along an axis.
  Expr bound(const Target& t, const std::string& end, std::size_t axis, const Span& at) const {
    if (!t.extents.empty())
      return end == "lbound" ? t.lower.at(axis)
                             : index_add({t.lower.at(axis), t.extents.at(axis), lit(-1)});
    if (t.place.as<Var>() && equal(t.lower.at(axis), first_of(variable(t.place).bounds.at(axis))))
      return call(std::string(kBound) + end, {t.place, lit(static_cast<std::int64_t>(axis) + 1)},
                  at);
    if (end == "lbound") return t.lower.at(axis);
    const Exprs index = axes(t);
    std::size_t there = 0, left = axis;
    while (!index.at(there).as<Slice>() || left-- > 0) ++there;
    const auto& s = *index[there].as<Slice>();
    const Expr step = s.step ? s.step : lit(1);
    const Expr first = s.start ? s.start : end_of(t, true, there, at);
    const Expr last = s.stop ? s.stop : end_of(t, false, there, at);
    return index_add({t.lower.at(axis), length(first, last, step), lit(-1)});
  }

  /// The part of the target that has these subscripts, or slices, of the pointer.
  Expr part(const Target& t, const Exprs& index, const Span& at) const {
    if (!t.extents.empty()) return remapped_part(t, variable(t.place), index, at);
    Exprs out;
    std::size_t next = 0;
    const Exprs there = axes(t);
    for (std::size_t n = 0; n < there.size(); ++n) {
      const auto* s = there[n].as<Slice>();
      if (!s) {
        out.push_back(there[n]);
        continue;
      }
      const std::size_t axis = next++;
      const Expr step = s->step ? s->step : lit(1);
      const auto moved = [&](const Expr& i) -> Expr {
        const Expr& lower = t.lower.at(axis);
        const Expr first = s->start ? s->start : end_of(t, true, n, at);
        if (equal(first, lower) && as_int(step) == 1) return i;
        return index_add({first, index_mul(step, index_sub(i, lower))});
      };
      const Expr& i = index.at(axis);
      if (const auto* section = i.as<Slice>())
        out.push_back(section_within(*s, *section, moved, at));
      else
        out.push_back(moved(i));
    }
    if (out.empty()) return t.place;
    return load(written_name(t.place), std::move(out), at);
  }

  Routine& r_;
  std::set<std::string> pointers_;
  std::set<std::string> changed_;
  std::set<std::string> outlive_;
  std::map<std::string, Expr> kept_;  // subscripts that statements keep, by statement and number
  struct {
    std::string statement, pointer;
    int parts = 0;
  } own_;                           // the current assignment
  std::vector<Way*> around_;        // of the constructs around that a Leave may leave
  std::vector<std::string> loops_;  // variables of the loops around
};

}  // namespace

namespace {

/// Takes assignments that give a pointer its own memory, and no other target ever, out.
void drop_allocations(const std::set<std::string>& arrays, Body& body) {
  std::erase_if(body, [&](const Statement& s) {
    const auto* a = std::get_if<PointerAssignment>(&s.what);
    return a && arrays.count(a->pointer);
  });
  for (Statement& s : body)
    for (auto* inner : bodies(s)) drop_allocations(arrays, **inner);
}

/// Fails for `associated` of a pointer that callers have.
void check_associated(const Body& body) {
  for (const Statement& s : body) {
    expressions(s, [&](const Expr& e) {
      if (e)
        for_each_of<Call>(e, [&](const Call& c, const Expr&) {
          if (c.name == kAssociated)
            fail("unsupported", s.at,
                 "`associated` of a pointer that is not the routine's own variable is not "
                 "supported in Fortran kernels");
        });
    });
    for (const auto* inner : bodies(s)) check_associated(**inner);
  }
}

}  // namespace

void resolve_pointers(Routine& routine) {
  std::set<std::string> pointers, assigned;
  each(routine.body, [&](const Statement& s) {
    const auto* a = std::get_if<PointerAssignment>(&s.what);
    const auto* target = a && a->target ? a->target.as<Var>() : nullptr;
    const bool own = target && target->name == a->pointer && a->lower.empty();
    if (a && !own) assigned.insert(a->pointer);
  });
  std::set<std::string> arrays;
  for (auto& [name, v] : routine.variables) {
    if (!v.pointer || v.dummy) continue;
    const bool has_memory = !v.bounds.empty() && v.bounds[0].upper;
    const bool alone = has_memory && !assigned.count(name);
    (alone ? arrays : pointers).insert(name);
    if (alone) v.pointer = false, v.allocatable = true;
  }
  if (!arrays.empty()) drop_allocations(arrays, routine.body);
  if (pointers.empty()) return check_associated(routine.body);
  for (std::set<std::string> outlive;;) try {
      Routine r = routine;
      Resolution(r, pointers, outlive).run();
      routine = std::move(r);
      break;
    } catch (const Resolution::Outlives& o) { outlive.insert(o.pointer); }
  check_associated(routine.body);
  for (const std::string& p : pointers) {
    Variable& v = routine.variables.at(p);
    if (v.bounds.empty() || !v.bounds[0].upper)
      routine.variables.erase(p);
    else
      v.pointer = false, v.allocatable = true;
  }
}

}  // namespace moonloop::fortran
