#include <algorithm>

#include "frontends/fortran/passes.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Subscripts that old programs keep in scalars, `l = j + (k - 1)*n` and then `a(l)`, are seen by
// the order relation as what they are.
namespace moonloop::fortran {
namespace {

class Forwarding {
 public:
  explicit Forwarding(Routine& r) : r_(r), uses_(uses_of(r)) {}

  void run() {
    r_.body = body(r_.body, {});
    if (forwarded_.empty()) return;
    std::set<std::string> read;
    for (const auto& [name, v] : r_.variables)
      for (const Bounds& b : v.bounds)
        for (const Expr& e : {b.lower, b.upper})
          if (e) collect_reads(e, read);
    reads(r_.body, read);
    std::erase_if(forwarded_, [&](const std::string& n) { return read.count(n) > 0; });
    if (!forwarded_.empty()) drop(r_.body);
  }

 private:
  /// By variable: its value now, over variables that stay as they are.
  using Values = std::map<std::string, Expr>;

  Body body(const Body& b, Values now) {
    Body out;
    for (Statement s : b) {
      const bool loop = std::holds_alternative<Do>(s.what);
      std::set<std::string> changed;
      for (const auto* inner : bodies(s)) changed.merge(changed_in(**inner));
      if (auto* d = std::get_if<Do>(&s.what)) {
        changed.insert(d->variable);
        for (Expr* e : {&d->from, &d->to, &d->step}) put(*e, now);
      } else {
        rewrite_own(s, now);
      }
      if (loop) forget(changed, now);  // its iterations begin with what others leave
      if (loop) around_.push_back(std::get<Do>(s.what));
      for (std::shared_ptr<Body>* inner : bodies(s))
        *inner = std::make_shared<Body>(body(**inner, now));
      if (loop) around_.pop_back();
      forget(changed, now);
      note(s, now);
      out.push_back(std::move(s));
    }
    return out;
  }

  static void forget(const std::set<std::string>& changed, Values& now) {
    std::erase_if(now, [&](const auto& v) {
      std::set<std::string> names;
      collect_vars(v.second, names);
      return changed.count(v.first) ||
             std::any_of(names.begin(), names.end(),
                         [&](const std::string& n) { return changed.count(n) > 0; });
    });
  }

  static void put(Expr& e, const Values& now) {
    if (e && !now.empty()) e = substitute(e, now);
  }

  /// The statement's own expressions. What a call gets may be a place, which stays one.
  static void rewrite_own(Statement& s, const Values& now) {
    if (now.empty()) return;
    if (auto* a = std::get_if<Assignment>(&s.what)) {
      if (a->to.as<Load>()) put(a->to, now);
      return put(a->value, now);
    }
    if (auto* c = std::get_if<SubroutineCall>(&s.what)) {
      for (Expr& e : c->arguments)
        if (!e.as<Var>()) put(e, now);
      return;
    }
    expressions(s, [&](Expr& e) { put(e, now); });
  }

  void note(const Statement& s, Values& now) {
    forget(changed_in({s}), now);
    const auto* a = std::get_if<Assignment>(&s.what);
    const auto* v = a ? a->to.as<Var>() : nullptr;
    if (v && !around_.empty() && is_own_integer(v->name) && stays(a->value) && is_short(a->value))
      now[v->name] = in_loops(a->value), forwarded_.insert(v->name);
  }

  /// Without the comparisons of a loop's variable with where the loop begins or ends.
  Expr in_loops(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      if (!c || (c->name != "min" && c->name != "max")) return x;
      Exprs left = c->args;
      for (const Do& d : around_) {
        const auto step = d.step ? as_int(d.step) : std::optional<std::int64_t>(1);
        if (!step || *step == 0) continue;
        const Expr& beyond = (*step > 0) == (c->name == "min") ? d.to : d.from;
        const auto is_variable = [&](const Expr& t) {
          const auto* v = t.as<Var>();
          return v && v->name == d.variable;
        };
        if (beyond && std::any_of(left.begin(), left.end(), is_variable))
          std::erase_if(left, [&](const Expr& t) { return equal(t, beyond); });
      }
      if (left.size() == c->args.size()) return x;
      return left.size() == 1 ? left.front() : Expr(Call{c->name, left, c->tag}, x.at());
    });
  }

  static void reads(const Body& b, std::set<std::string>& out) {
    const auto look = [&](const Expr& e) {
      if (e) collect_reads(e, out);
    };
    for (const Statement& s : b) {
      const auto* a = std::get_if<Assignment>(&s.what);
      if (a && a->to.as<Var>())
        look(a->value);
      else
        expressions(s, look);
      if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
      for (const auto* inner : bodies(s)) reads(**inner, out);
    }
  }

  /// Assignments of variables that nothing reads any more.
  void drop(Body& b) const {
    std::erase_if(b, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      return a && a->to.as<Var>() && forwarded_.count(written_name(a->to));
    });
    for (Statement& s : b)
      for (auto* inner : bodies(s)) drop(**inner);
  }

  bool is_own_integer(const std::string& name) const {
    const Variable& v = r_.variables.at(name);
    return !v.dummy && !v.array && !v.logical && !v.character && !v.saved &&
           is_integer(v.type.scalar);
  }

  /// What grows from one scalar to the next stays in them.
  static bool is_short(const Expr& e) {
    constexpr int kMost = 40;  // parts
    int parts = 0;
    walk(e, [&](const Expr&) { return ++parts <= kMost; });
    return parts <= kMost;
  }

  /// Sums, products, least and greatest ones of variables of the loops around, of arguments that
  /// nothing assigns, and of numbers.
  bool stays(const Expr& e) const {
    if (e.as<IntLit>()) return true;
    if (const auto* n = e.as<Nary>())
      return (n->op == NaryOp::Add || n->op == NaryOp::Mul) &&
             std::all_of(n->terms.begin(), n->terms.end(), [&](const Expr& x) { return stays(x); });
    if (const Expr* x = negated(e)) return stays(*x);
    if (const auto* c = e.as<Call>(); c && (c->name == "min" || c->name == "max"))
      return std::all_of(c->args.begin(), c->args.end(), [&](const Expr& x) { return stays(x); });
    const auto* v = e.as<Var>();
    if (!v) return false;
    if (std::any_of(around_.begin(), around_.end(),
                    [&](const Do& d) { return d.variable == v->name; }))
      return !uses_.assigned.count(v->name);
    const auto it = r_.variables.find(v->name);
    return it != r_.variables.end() && it->second.dummy && !it->second.array &&
           is_integer(it->second.type.scalar) && !uses_.assigned.count(v->name) &&
           !uses_.loops.count(v->name) && it->second.intent != Intent::Out &&
           it->second.intent != Intent::InOut;
  }

  Routine& r_;
  Uses uses_;
  std::vector<Do> around_;  // the loops around
  std::set<std::string> forwarded_;
};

}  // namespace

void forward_subscripts(Routine& routine) { Forwarding(routine).run(); }

}  // namespace moonloop::fortran
