#include <algorithm>

#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// `return`, `exit` and `cycle` as choices.
namespace moonloop::fortran {
namespace {

bool leaves(const Body& b) { return !b.empty() && std::holds_alternative<Leave>(b.back().what); }

/// Whether a statement may leave more than a loop within it; `depth`: loops around it, within the
/// statement in question.
bool may_leave(const Statement& s, int depth = 0) {
  const auto any = [&](const Body& b, int inner) {
    return std::any_of(b.begin(), b.end(), [&](const Statement& x) { return may_leave(x, inner); });
  };
  if (const auto* l = std::get_if<Leave>(&s.what))
    return l->kind == Leave::Kind::Return || l->loop >= depth;
  if (const auto* d = std::get_if<Do>(&s.what)) return any(*d->body, depth + 1);
  if (const auto* x = std::get_if<Scope>(&s.what)) return any(*x->body, depth + 1);
  const auto* c = std::get_if<Choice>(&s.what);
  return c && std::any_of(c->arms.begin(), c->arms.end(),
                          [&](const Choice::Arm& a) { return any(*a.body, depth); });
}

/// Whether a function, which may do more than compute, is called.
bool calls_function(const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    for (const char* kind : {kFunction, kElemental, kArrayFunction})
      found = found || !called(x, kind).empty();
    return !found;
  });
  return found;
}

using Flags = std::set<std::string>;

class Removal {
 public:
  explicit Removal(Routine& r) : r_(r), behind_(uses_of(r).behind) {}

  void run() {
    Flags set;
    Body out = body(std::move(r_.body), true, set);
    if (!return_.empty()) initial_.push_back(flag_to(return_, true, r_.at));
    out.insert(out.begin(), initial_.begin(), initial_.end());
    r_.body = std::move(out);
  }

 private:
  struct Loop {
    std::string variable = {}, exit = {}, cycle = {};  // the flags' names once they are needed
    std::string at_exit = {};  // the variable's value where the loop is left
    bool once = false;         // a Scope
    bool at_end = false;       // nothing follows it in the loop or routine around
  };

  std::string fresh(const std::string& base, const Variable& like) {
    const std::string name = fresh_name(r_, base);
    r_.variables.emplace(name, local_like(like, name));
    return name;
  }
  std::string logical(const std::string& base) {
    Variable v;
    v.at = r_.at;
    v.type = Scalar::I32;
    v.logical = true;
    return fresh(base, v);
  }
  static Statement assign(const std::string& to, const Expr& value, const Span& at) {
    return {at, Assignment{var(to, at), value}};
  }
  static Statement flag_to(const std::string& flag, bool value, const Span& at) {
    return assign(flag, Expr(BoolLit{value}, at), at);
  }
  /// All of the flags, `first` before the others.
  static Expr all(const Flags& flags, const Span& at, const std::string& first = "") {
    Exprs out;
    for (const std::string& f : flags) out.insert(f == first ? out.begin() : out.end(), var(f, at));
    return conjunction(out);
  }
  /// A loop's variable gets the value that it had where the loop was left.
  bool restores(const Body& b) const {
    bool found = false;
    each(b, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      const auto* v = a ? a->value.as<Var>() : nullptr;
      found = found || (v && at_exits_.count(v->name));
    });
    return found;
  }
  Statement when(const Expr& condition, Body then, const Span& at) const {
    Choice c;
    c.lasting = !restores(then);  // after a flag becomes false, it guards the rest
    c.arms.push_back({condition, std::make_shared<Body>(std::move(then))});
    return {at, std::move(c)};
  }

  /// Whether it does nothing at the end of the innermost loop's body, or of the routine's.
  bool falls_through(const Leave& l) const {
    const std::size_t left = left_by(l);
    return !leaves_loop(l) &&
           std::all_of(loops_.end() - static_cast<std::ptrdiff_t>(left), loops_.end(),
                       [](const Loop& x) { return x.once && x.at_end; });
  }
  /// How many of the loops around end, besides that which `exit` names.
  std::size_t left_by(const Leave& l) const {
    return l.kind == Leave::Kind::Return ? loops_.size() : static_cast<std::size_t>(l.loop);
  }
  bool leaves_loop(const Leave& l) const {
    return l.kind == Leave::Kind::Exit && !loops_[loops_.size() - 1 - left_by(l)].once;
  }

  /// Without what does nothing at the end of `b`, which nothing follows: no flag guards it.
  void trim(Body& b) const {
    for (; !b.empty(); b.pop_back()) {
      if (const auto* l = std::get_if<Leave>(&b.back().what); l && falls_through(*l)) continue;
      auto* c = std::get_if<Choice>(&b.back().what);
      if (!c) return;
      bool nothing = true;
      for (Choice::Arm& a : c->arms) {
        Body arm = *a.body;
        trim(arm);
        nothing = nothing && arm.empty() && !(a.condition && calls_function(a.condition));
        a.body = std::make_shared<Body>(std::move(arm));
      }
      if (!nothing) return;
    }
  }

  /// `last`: nothing follows `b` in the routine's body or in that of the innermost loop, so that
  /// `return` or `cycle` there do nothing. `set` gets the flags that may be false after it.
  Body body(Body b, bool last, Flags& set) {
    if (last) trim(b);
    Body out;
    for (std::size_t n = 0; n < b.size(); ++n) {
      Statement& s = b[n];
      if (const auto* l = std::get_if<Leave>(&s.what)) {  // the rest is never reached
        leave(*l, last, s.at, out, set);
        return out;
      }
      if (auto* d = std::get_if<Do>(&s.what)) {
        Flags inner;
        loop(*d, s.at, out, inner);
        if (inner.empty()) continue;
        set.insert(inner.begin(), inner.end());
        guarded_rest(b, n, last, inner, out, set);
        return out;
      }
      if (auto* x = std::get_if<Scope>(&s.what)) {
        Flags inner;
        scope(*x, last && n + 1 == b.size(), s.at, out, inner);
        if (inner.empty()) continue;
        set.insert(inner.begin(), inner.end());
        guarded_rest(b, n, last, inner, out, set);
        return out;
      }
      auto* c = std::get_if<Choice>(&s.what);
      if (!c || !may_leave(s)) {
        if (c)
          for (Choice::Arm& a : c->arms) {
            Flags none;
            a.body = std::make_shared<Body>(body(*a.body, false, none));
          }
        out.push_back(std::move(s));
        continue;
      }
      choice(b, n, last, out, set);
      return out;
    }
    return out;
  }

  void guarded_rest(Body& b, std::size_t n, bool last, const Flags& flags, Body& out, Flags& set) {
    if (n + 1 == b.size()) return;
    const Span at = b[n + 1].at;
    Body rest(std::make_move_iterator(b.begin() + static_cast<std::ptrdiff_t>(n) + 1),
              std::make_move_iterator(b.end()));
    out.push_back(when(all(flags, at), body(std::move(rest), last, set), at));
  }

  /// The rest goes into the only arm that continues; where several do, they set flags.
  void choice(Body& b, std::size_t n, bool last, Body& out, Flags& set) {
    Choice c = std::get<Choice>(b[n].what);
    const Span at = b[n].at;
    const bool end = n + 1 == b.size();
    if (!end && c.arms.back().condition) c.arms.push_back({Expr(), std::make_shared<Body>()});
    const auto on = std::count_if(c.arms.begin(), c.arms.end(),
                                  [](const Choice::Arm& a) { return !leaves(*a.body); });
    Flags inner;
    const bool nested = end || on <= 1;
    for (Choice::Arm& a : c.arms) {
      Body arm = *a.body;
      if (nested && !leaves(arm))
        arm.insert(arm.end(), b.begin() + static_cast<std::ptrdiff_t>(n) + 1, b.end());
      a.body = std::make_shared<Body>(body(std::move(arm), last && nested, inner));
    }
    out.push_back({at, std::move(c)});
    set.insert(inner.begin(), inner.end());
    if (!nested) guarded_rest(b, n, last, inner, out, set);
  }

  void leave(const Leave& l, bool last, const Span& at, Body& out, Flags& set) {
    const bool returns = l.kind == Leave::Kind::Return;
    const std::size_t depth = loops_.size(), left = left_by(l);
    const bool cycles = l.kind == Leave::Kind::Cycle, from_loop = leaves_loop(l);
    if (last && falls_through(l)) return;
    for (std::size_t i = 0; i < left + (from_loop ? 1 : 0); ++i) {
      Loop& x = loops_[depth - 1 - i];
      if (x.once) continue;
      const Variable& v = r_.variables.at(x.variable);
      if (!behind_.count(x.variable) && !v.dummy && !v.host) continue;
      if (x.at_exit.empty()) {
        x.at_exit = fresh(x.variable + "_left", r_.variables.at(x.variable));
        at_exits_.insert(x.at_exit);
      }
      out.push_back(assign(x.at_exit, var(x.variable, at), at));
    }
    std::string& flag = returns  ? return_
                        : cycles ? loops_[depth - 1 - left].cycle
                                 : loops_[depth - 1 - left].exit;
    if (flag.empty())
      flag = logical(returns || loops_[depth - 1 - left].once
                         ? "goes_on"
                         : loops_[depth - 1 - left].variable + "_goes_on");
    out.push_back(flag_to(flag, false, at));
    set.insert(flag);
  }

  void loop(Do d, const Span& at, Body& out, Flags& set) {
    loops_.push_back({.variable = d.variable});
    Flags inner;
    Body b = body(*d.body, true, inner);
    const Loop x = loops_.back();
    loops_.pop_back();
    inner.erase(x.cycle);
    const Flags stops = inner;
    if (!x.cycle.empty()) b.insert(b.begin(), flag_to(x.cycle, true, at));
    if (!stops.empty()) {
      Body guarded;
      guarded.push_back(when(all(stops, at, x.exit), std::move(b), at));
      b = std::move(guarded);
    }
    d.body = std::make_shared<Body>(std::move(b));
    if (!x.exit.empty()) out.push_back(flag_to(x.exit, true, at));
    // Where the loop is not reached it has no turns.
    if (!x.exit.empty() && d.endless) initial_.push_back(flag_to(x.exit, false, at));
    out.push_back({at, std::move(d)});
    if (!x.at_exit.empty())
      out.push_back(
          when(negation(all(stops, at)), {assign(x.variable, var(x.at_exit, at), at)}, at));
    inner.erase(x.exit);
    set.insert(inner.begin(), inner.end());
  }

  /// `at_end`: nothing follows it in the loop or routine around.
  void scope(const Scope& x, bool at_end, const Span& at, Body& out, Flags& set) {
    loops_.push_back({.once = true, .at_end = at_end});
    Flags inner;
    Body b = body(*x.body, true, inner);
    const std::string exit = loops_.back().exit;
    loops_.pop_back();
    if (!exit.empty()) out.push_back(flag_to(exit, true, at));
    append(std::move(b), out);
    inner.erase(exit);
    set.insert(inner.begin(), inner.end());
  }

  Routine& r_;
  std::set<std::string> behind_;
  std::vector<Loop> loops_;
  std::set<std::string> at_exits_;
  std::string return_;
  Body initial_;  // what flags are at the routine's start
};

}  // namespace

void remove_early_exits(Routine& routine) { Removal(routine).run(); }

}  // namespace moonloop::fortran
