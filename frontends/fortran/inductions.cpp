#include <algorithm>

#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Variables that each iteration of a loop adds the same to, `k = k + 2`, by the loop's variable:
// its iterations do not wait for each other then.
namespace moonloop::fortran {
namespace {

/// A variable of a loop: its increment in each iteration, and the statement that adds it.
struct Induction {
  std::string variable;
  Expr gain;
  std::size_t update = 0;  // in the loop's body
  Span at;
};

class Inductions {
 public:
  explicit Inductions(Routine& r) : r_(r), uses_(uses_of(r)) {}

  void run() {
    body(r_.body);
    for (const std::string& name : found_)
      if (!is_read(r_.body, name)) remove_assignments(r_.body, name);
    if (!found_.empty()) without_limits(r_.body);
  }

 private:
  void body(Body& b) {
    for (std::size_t n = 0; n < b.size(); ++n) {
      for (auto* inner : bodies(b[n])) body(**inner);
      if (std::holds_alternative<Do>(b[n].what)) loop(b, n);
    }
  }

  /// The loop at `n`; its variables get their values after it.
  void loop(Body& around, std::size_t n) {
    const Do d = std::get<Do>(around[n].what);
    const auto step = d.step ? as_int(d.step) : std::optional<std::int64_t>(1);
    if (!step || *step == 0 || !is_fixed(d.from) || !stays_in(d.to, *d.body) ||
        uses_.behind.count(d.variable) || uses_.assigned.count(d.variable) ||
        r_.variables.at(d.variable).dummy)
      return;
    Body behind;
    while (const auto x = next(d, *step)) {
      found_.insert(x->variable);
      const Expr start = known_start(around, n, x->variable);
      const Expr base = start ? start : var(x->variable, x->at);
      const Expr before = index_add(
          {base, index_mul(*quotient(x->gain, *step), index_sub(var(d.variable), d.from))});
      replace(*d.body, *x, before, index_add({before, x->gain}));
      behind.push_back({x->at, Assignment{var(x->variable, x->at),
                                          index_add({base, index_mul(x->gain, trips(d, *step))})}});
    }
    around.insert(around.begin() + static_cast<std::ptrdiff_t>(n) + 1, behind.begin(),
                  behind.end());
  }

  static Expr trips(const Do& d, std::int64_t step) {
    const Expr n = length(d.from, d.to, step);
    const auto known = as_int(n);
    return known ? lit(std::max(*known, std::int64_t{0})) : call("max", {n, lit(0)});
  }

  /// Within a loop it has iterations: `max(n, 0)` of their number is `n`.
  static void without_limits(Body& b) {
    for (Statement& s : b) {
      for (auto* inner : bodies(s)) without_limits(**inner);
      const auto* d = std::get_if<Do>(&s.what);
      const auto step = !d        ? std::nullopt
                        : d->step ? as_int(d->step)
                                  : std::optional(std::int64_t{1});
      if (!step || *step == 0) continue;
      const Expr limited = trips(*d, *step), n = length(d->from, d->to, *step);
      if (limited.as<Call>()) replace_in(*d->body, limited, n);
    }
  }
  static void replace_in(Body& b, const Expr& from, const Expr& to) {
    for (Statement& s : b) {
      expressions(s, [&](Expr& e) {
        if (e) e = rewrite(e, [&](const Expr& x) { return equal(x, from) ? to : x; });
      });
      for (auto* inner : bodies(s)) replace_in(**inner, from, to);
    }
  }

  // ---- Recognition.

  std::optional<Induction> next(const Do& d, std::int64_t step) const {
    const Body& b = *d.body;
    for (std::size_t n = 0; n < b.size(); ++n) {
      const auto* a = std::get_if<Assignment>(&b[n].what);
      const auto* v = a && !a->atomic ? a->to.as<Var>() : nullptr;
      if (!v || !is_counter(r_.variables.at(v->name)) || assigned_in(b, v->name) != 1 ||
          is_reduced(d, v->name))
        continue;
      const Expr gain = gain_of(without_casts(a->value), v->name);
      if (gain && is_fixed(gain) && quotient(gain, step))
        return Induction{v->name, gain, n, b[n].at};
    }
    return std::nullopt;
  }

  static bool is_reduced(const Do& d, const std::string& v) {
    return d.directive &&
           std::any_of(d.directive->reductions.begin(), d.directive->reductions.end(),
                       [&](const Directive::Reduction& r) { return r.variable == v; });
  }

  static bool is_counter(const Variable& v) {
    return !v.array && !v.logical && !v.character && is_integer(v.type.scalar) &&
           v.initial.empty() && !v.dummy && !v.host;
  }

  /// `c` of `v + c`; null for others.
  static Expr gain_of(const Expr& e, const std::string& v) {
    const auto* sum = e.as<Nary>();
    if (!sum || sum->op != NaryOp::Add) return Expr();
    Exprs rest;
    int found = 0;
    for (const Expr& t : sum->terms) {
      const auto* x = t.as<Var>();
      if (x && x->name == v)
        ++found;
      else
        rest.push_back(t);
    }
    return found == 1 && !rest.empty() ? index_add(rest) : Expr();
  }

  /// A constant, or an expression of arguments that stay as they are.
  bool is_fixed(const Expr& e) const {
    bool fixed = true;
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>()) {
        const auto it = r_.variables.find(v->name);
        fixed = fixed && it != r_.variables.end() && it->second.dummy && !it->second.array &&
                is_integer(it->second.type.scalar) && !uses_.assigned.count(v->name) &&
                !uses_.loops.count(v->name);
        return false;
      }
      const auto* n = x.as<Nary>();
      const auto* c = x.as<Call>();
      fixed = fixed && (x.as<IntLit>() || negated(x) ||
                        (n && (n->op == NaryOp::Add || n->op == NaryOp::Mul)) ||
                        (c && (c->name == "max" || c->name == "truncdiv")));
      return fixed;
    });
    return fixed;
  }

  /// Its value is the same before each iteration.
  static bool stays_in(const Expr& e, const Body& b) {
    std::set<std::string> names;
    collect_reads(e, names);
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& n) { return assigned_in(b, n) == 0; });
  }

  static std::optional<Expr> quotient(const Expr& gain, std::int64_t step) {
    if (step == 1) return gain;
    if (step == -1) return index_mul(lit(-1), gain);
    const auto n = as_int(gain);
    return n && *n % step == 0 ? std::optional(lit(*n / step)) : std::nullopt;
  }

  /// How many statements may change it.
  static int assigned_in(const Body& b, const std::string& name) {
    int out = 0;
    each(b, [&](const Statement& s) {
      if (const auto* a = std::get_if<Assignment>(&s.what)) out += written_name(a->to) == name;
      if (const auto* d = std::get_if<Do>(&s.what)) out += d->variable == name;
      if (const auto* c = std::get_if<SubroutineCall>(&s.what)) {
        for (const Expr& e : c->arguments) out += in(e, name);
        out += in(c->result, name);
      }
    });
    return out;
  }

  static bool in(const Expr& e, const std::string& name) {
    std::set<std::string> names;
    if (e) collect_vars(e, names);
    return names.count(name) != 0;
  }

  /// The value before the loop, where the assignment before it gives an expression that stays.
  Expr known_start(const Body& around, std::size_t n, const std::string& name) const {
    while (n-- > 0) {
      if (assigned_in({around[n]}, name) == 0) continue;
      const auto* a = std::get_if<Assignment>(&around[n].what);
      return a && is_fixed(without_casts(a->value)) ? without_casts(a->value) : Expr();
    }
    return Expr();
  }

  // ---- Replacement.

  /// `before` stands for it up to the update, `after` from there on.
  static void replace(Body& b, const Induction& x, const Expr& before, const Expr& after) {
    for (std::size_t n = 0; n < b.size(); ++n)
      if (n != x.update) give(b[n], x.variable, n < x.update ? before : after);
    b.erase(b.begin() + static_cast<std::ptrdiff_t>(x.update));
  }
  static void give(Statement& s, const std::string& name, const Expr& value) {
    expressions(s, [&](Expr& e) {
      if (e && in(e, name)) e = substitute(e, {{name, value}});
    });
    for (auto* b : bodies(s))
      for (Statement& inner : **b) give(inner, name, value);
  }

  static bool is_read(Body& b, const std::string& name) {
    return std::any_of(b.begin(), b.end(), [&](Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      bool found = false;
      if (a && a->to.as<Var>())
        found = in(a->value, name);
      else
        expressions(s, [&](const Expr& e) { found = found || in(e, name); });
      for (auto* inner : bodies(s)) found = found || is_read(**inner, name);
      return found;
    });
  }
  static void remove_assignments(Body& b, const std::string& name) {
    std::erase_if(b, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      return a && a->to.as<Var>() && written_name(a->to) == name;
    });
    for (Statement& s : b)
      for (auto* inner : bodies(s)) remove_assignments(**inner, name);
  }

  Routine& r_;
  Uses uses_;
  std::set<std::string> found_;
};

}  // namespace

void recognize_inductions(Routine& routine) { Inductions(routine).run(); }

}  // namespace moonloop::fortran
