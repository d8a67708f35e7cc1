#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/expr/reduction_steps.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/uses.h"

// The data-sharing attributes of OpenMP's and OpenACC's loops, written out where the loop itself
// does not show them: a variable that iterations have of their own, and one that they accumulate
// into deeper inside.
namespace moonloop::fortran {
namespace {

bool assigns(const Body& body, const std::string& name) {
  bool found = false;
  each(body, [&](const Statement& s) {
    if (const auto* a = std::get_if<Assignment>(&s.what))
      found = found || written_name(a->to) == name;
    if (const auto* c = std::get_if<SubroutineCall>(&s.what))
      found = found ||
              std::any_of(c->arguments.begin(), c->arguments.end(),
                          [&](const Expr& e) { return mentions(e, name); }) ||
              (c->result && mentions(c->result, name));
  });
  return found;
}

/// Statements within a loop of `body`, not in it directly, assign the variable.
bool assigns_deeper(const Body& body, const std::string& name) {
  return std::any_of(body.begin(), body.end(), [&](Statement s) {
    if (const auto* d = std::get_if<Do>(&s.what)) return assigns(*d->body, name);
    const auto inner = bodies(s);
    return std::any_of(inner.begin(), inner.end(),
                       [&](const auto* b) { return assigns_deeper(**b, name); });
  });
}

/// `to = to op e` where nothing else of the statement reads the variable.
bool accumulates(const Assignment& a, const Directive::Reduction& r) {
  return written_name(a.to) == r.variable && update_of(a) == r.op;
}

/// The variable is accumulated into, and not used in another way.
bool only_accumulates(const Body& body, const Directive::Reduction& r) {
  return std::all_of(body.begin(), body.end(), [&](Statement s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    if (!a || !accumulates(*a, r)) {
      bool used = false;
      expressions(s, [&](const Expr& e) { used = used || mentions(e, r.variable); });
      if (used) return false;
    }
    const auto inner = bodies(s);
    return std::all_of(inner.begin(), inner.end(),
                       [&](const auto* b) { return only_accumulates(**b, r); });
  });
}

void make_atomic(Body& body, const std::string& name) {
  for (Statement& s : body) {
    if (auto* a = std::get_if<Assignment>(&s.what); a && written_name(a->to) == name)
      a->atomic = true;
    for (auto* inner : bodies(s)) {
      *inner = std::make_shared<Body>(**inner);
      make_atomic(**inner, name);
    }
  }
}

class Sharing {
 public:
  Sharing(Routine& r, bool lanes) : r_(r), lanes_(lanes) {}

  void visit(Body& body) {
    for (Statement& s : body) {
      for (auto* inner : bodies(s)) *inner = std::make_shared<Body>(**inner);
      if (auto* d = std::get_if<Do>(&s.what); d && d->directive) loop(*d);
      for (auto* inner : bodies(s)) visit(**inner);
    }
  }

 private:
  /// The loops that the directive means, outer ones first; none where they are not nested.
  static std::vector<Do*> nest_of(Do& outermost) {
    std::vector<Do*> out{&outermost};
    for (int n = 1; n < outermost.directive->loops; ++n) {
      out.back()->body = std::make_shared<Body>(*out.back()->body);
      Body& body = *out.back()->body;
      auto* next = body.size() == 1 ? std::get_if<Do>(&body.front().what) : nullptr;
      if (!next) return {};
      out.push_back(next);
    }
    out.back()->body = std::make_shared<Body>(*out.back()->body);
    return out;
  }

  void loop(Do& outermost) {
    if (outermost.directive->tag != "simd") have_own_variables(outermost);
    const std::vector<Do*> nest = nest_of(outermost);
    if (nest.empty()) return;
    Body& body = *nest.back()->body;
    const Directive& x = *outermost.directive;
    for (const std::string& name : x.firstprivate) keep_apart(name, x, body);
    const auto counts = [&](const std::string& name) {  // each iteration has its own anyway
      return std::any_of(nest.begin(), nest.end(), [&](Do* d) { return d->variable == name; });
    };
    for (const std::string& name : x.privates)
      if (!counts(name)) privatize(name, x, nest, body, false);
    for (const std::string& name : x.lastprivates)
      if (!counts(name)) privatize(name, x, nest, body, true);
    for (const std::string& name : x.given) give_to_each(name, x, body);
    if (x.tag == "g") make_scalars_private(x, body);
    Directive rest = x;
    std::erase_if(rest.reductions, [&](const Directive::Reduction& r) {
      const auto v = r_.variables.find(r.variable);
      if (v == r_.variables.end() || !only_accumulates(body, r)) return false;
      if (v->second.array && !one_element(body, r.variable, nest)) {
        make_atomic(body, r.variable);  // any element, by any iteration
        return true;
      }
      Body& inmost = loop_that_reduces(r.variable, body);
      std::string variable = r.variable;
      if (assigns_deeper(inmost, r.variable) ||
          (&inmost != &body && assignments(inmost, r.variable) > 1))
        variable = put_together(r, v->second.type, x.at, inmost);
      lanes_ ? reduce_in_lanes({r.op, variable}, inmost) : leave_to_loops_around(r, body);
      return false;
    });
    outermost.directive = std::make_shared<const Directive>(std::move(rest));
  }

  /// Whether expressions name the variable that are in no loop of its own.
  static bool is_used_beside_loops(const Body& body, const std::string& name) {
    return std::any_of(body.begin(), body.end(), [&](const Statement& s) {
      bool used = false;
      expressions(s, [&](const Expr& e) { used = used || mentions(e, name); });
      const auto* d = std::get_if<Do>(&s.what);
      const auto inner = bodies(s);
      return used || ((!d || d->variable != name) &&
                      std::any_of(inner.begin(), inner.end(),
                                  [&](const auto* b) { return is_used_beside_loops(**b, name); }));
    });
  }

  /// The variables of loops inside of one that threads share are each iteration's own, and have no
  /// value behind it.
  void have_own_variables(Do& outermost) {
    const Directive& x = *outermost.directive;
    std::set<std::string> kept{outermost.variable}, inside;
    for (const auto* names : {&x.firstprivate, &x.lastprivates})
      kept.insert(names->begin(), names->end());
    each(*outermost.body, [&](const Statement& s) {
      const auto* d = std::get_if<Do>(&s.what);
      if (d && !d->endless && !kept.contains(d->variable)) inside.insert(d->variable);
    });
    std::map<std::string, std::string> names;
    for (const std::string& name : inside) {
      const auto it = r_.variables.find(name);
      if (it == r_.variables.end() || it->second.array || !is_used_beside_loops(r_.body, name))
        continue;
      const std::string own = fresh_name(r_, name);
      r_.variables.emplace(own, local_like(Variable(it->second), own));
      names.emplace(name, own);
    }
    if (names.empty()) return;
    outermost.body = std::make_shared<Body>(*outermost.body);
    rename_in(*outermost.body, names);
  }

  /// Whether a reduction of a loop around goes over the loop of this directive, too.
  bool joins(const Directive& d, const std::string& variable) const {
    return !lanes_ && (d.tag == "simd" || reduces(d, variable));
  }
  static bool reduces(const Directive& d, const std::string& variable) {
    return std::any_of(d.reductions.begin(), d.reductions.end(),
                       [&](const auto& k) { return k.variable == variable; });
  }

  /// The innermost loop, from `body` inwards, that has all uses of the variable, so that it and the
  /// loops around it reduce. Its bounds and theirs stay the same in `body`.
  Body& loop_that_reduces(const std::string& variable, Body& body) const {
    const std::set<std::string> changed = changed_in(body);
    const auto stays = [&](const Expr& e) {
      bool found = true;
      if (e)
        walk(e, [&](const Expr& part) {
          const auto* v = part.as<Var>();
          found = found && !part.as<Load>() && !part.as<Call>() && !(v && changed.count(v->name));
          return found;
        });
      return found;
    };
    Body* out = &body;
    for (;;) {
      Do* only = nullptr;
      for (Statement& s : *out) {
        if (mentions(s, variable) == 0) continue;
        auto* d = std::get_if<Do>(&s.what);
        const bool in_order = !d || !d->directive || joins(*d->directive, variable);
        if (only || !d || d->endless || !in_order) return *out;
        only = d;
      }
      if (!only || !stays(only->from) || !stays(only->to) || (only->step && !as_int(only->step)))
        return *out;
      only->body = std::make_shared<Body>(*only->body);
      out = only->body.get();
    }
  }

  /// Loops inside of one that reduces are those of lanes, without a clause for the variable: the
  /// lanes reduce as well, since `body` does nothing else with the variable.
  static void reduce_in_lanes(const Directive::Reduction& r, Body& body) {
    for (Statement& s : body) {
      if (auto* d = std::get_if<Do>(&s.what); d && d->directive && d->directive->tag == "simd") {
        const auto& known = d->directive->reductions;
        const bool told = std::any_of(known.begin(), known.end(),
                                      [&](const auto& k) { return k.variable == r.variable; });
        if (told || !assigns(*d->body, r.variable)) continue;
        Directive with = *d->directive;
        with.reductions.push_back(r);
        d->directive = std::make_shared<const Directive>(std::move(with));
      } else {
        for (auto* inner : bodies(s)) {
          *inner = std::make_shared<Body>(**inner);
          reduce_in_lanes(r, **inner);
        }
      }
    }
  }

  /// Loops in `body` do not reduce themselves what a loop around them does.
  static void leave_to_loops_around(const Directive::Reduction& r, Body& body) {
    for (Statement& s : body) {
      if (auto* d = std::get_if<Do>(&s.what);
          d && d->directive &&
          (d->directive->tag == "simd" || reduces(*d->directive, r.variable))) {
        Directive without = *d->directive;
        std::erase_if(without.reductions, [&](const auto& k) { return k.variable == r.variable; });
        d->directive = std::make_shared<const Directive>(std::move(without));
      }
      for (auto* inner : bodies(s)) {
        *inner = std::make_shared<Body>(**inner);
        leave_to_loops_around(r, **inner);
      }
    }
  }

  static std::size_t assignments(const Body& body, const std::string& variable) {
    std::size_t n = 0;
    each(body, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      n += a && written_name(a->to) == variable ? 1 : 0;
    });
    return n;
  }

  /// Each iteration accumulates into a variable of its own, which goes to the common one at its
  /// end: the name of that variable.
  std::string put_together(const Directive::Reduction& r, const Type& type, const Span& at,
                           Body& body) {
    const Expr part = new_scalar(r_, r.variable + "_part", type, at);
    Expr whole;
    gather(body, r.variable, part, whole);
    const Expr none = r.op == "+"   ? lit(0)
                      : r.op == "*" ? lit(1)
                                    : extreme_value(type, r.op == "max");
    const Expr both = r.op == "+"   ? Expr(Nary{NaryOp::Add, {whole, part}}, at)
                      : r.op == "*" ? Expr(Nary{NaryOp::Mul, {whole, part}}, at)
                                    : call(r.op, {whole, part}, at);
    body.insert(body.begin(), {at, Assignment{part, none}});
    body.push_back({at, Assignment{whole, both}});
    return written_name(part);
  }

  /// Puts `part` in the place of the variable or of its one element, which `whole` gets.
  static void gather(Body& body, const std::string& variable, const Expr& part, Expr& whole) {
    for (Statement& s : body) {
      if (auto* a = std::get_if<Assignment>(&s.what); a && written_name(a->to) == variable) {
        whole = a->to;
        a->value = rewrite(a->value, [&](const Expr& x) { return equal(x, a->to) ? part : x; });
        a->to = part;
      }
      if (auto* d = std::get_if<Do>(&s.what); d && d->directive && d->directive->tag != "simd")
        d->directive = renamed(*d->directive, [&](const std::string& name) {
          return name == variable ? written_name(part) : name;
        });
      for (auto* inner : bodies(s)) {
        *inner = std::make_shared<Body>(**inner);
        gather(**inner, variable, part, whole);
      }
    }
  }

  /// Whether all statements accumulate into the same element of an array in all iterations.
  static bool one_element(const Body& body, const std::string& name, const std::vector<Do*>& nest) {
    std::set<std::string> changed = changed_in(body);
    for (const Do* d : nest) changed.insert(d->variable);
    Expr element;
    bool same = true;
    each(body, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      if (!a || written_name(a->to) != name) return;
      same = same && (!element || equal(element, a->to));
      element = a->to;
    });
    if (!same || !element || !element.as<Load>()) return false;
    for (const Expr& i : element.as<Load>()->index) {
      std::set<std::string> read;
      collect_reads(i, read);
      collect_vars(i, read);
      for (const std::string& n : read) same = same && !changed.count(n);
    }
    return same;
  }

  /// Whether the first statement that names the array sets an element, also in loops, which set all
  /// of it as a rule.
  static bool is_set_first(const Body& body, const std::string& name) {
    for (const Statement& s : body) {
      if (mentions(s, name) == 0) continue;
      if (const auto* d = std::get_if<Do>(&s.what)) return is_set_first(*d->body, name);
      const auto* a = std::get_if<Assignment>(&s.what);
      if (!a || written_name(a->to) != name || mentions(a->value, name)) return false;
      const auto* l = a->to.as<Load>();
      return !l || std::none_of(l->index.begin(), l->index.end(),
                                [&](const Expr& e) { return mentions(e, name); });
    }
    return true;
  }

  /// Some subscript of the array is not one of variables of loops and of numbers.
  static bool is_asked_by_data(const Body& body, const std::string& name) {
    std::set<std::string> loops;
    each(body, [&](const Statement& s) {
      if (const auto* d = std::get_if<Do>(&s.what)) loops.insert(d->variable);
    });
    bool found = false;
    each(body, [&](Statement s) {
      expressions(s, [&](const Expr& e) {
        if (!e) return;
        walk(e, [&](const Expr& x) {
          const auto* l = x.as<Load>();
          if (!l || l->array != name) return true;
          std::set<std::string> names;
          for (const Expr& i : l->index) collect_reads(i, names);
          found = found || std::any_of(names.begin(), names.end(),
                                       [&](const std::string& n) { return loops.count(n) == 0; });
          return true;
        });
      });
    });
    return found;
  }

  /// A private variable has no value at the start of an iteration, so that it may be given one:
  /// what it had before is nothing that the iteration could depend on. Of arrays, small ones get
  /// one.
  void begin(const std::string& name, Body& body) {
    const Variable v = r_.variables.at(name);
    if (v.character || (v.array ? is_set_first(body, name) && !is_asked_by_data(body, name)
                                : is_set_before_use(body, name)))
      return;
    constexpr std::int64_t kFew = 1024;
    std::int64_t elements = 1;
    for (const Bounds& b : v.bounds) {
      const auto first = as_int(first_of(b)), last = b.upper ? as_int(b.upper) : std::nullopt;
      if (!first || !last) return;
      elements *= std::max<std::int64_t>(0, *last - *first + 1);
    }
    if (elements > kFew) return;
    const Exprs index = axes(v);
    const Expr none = v.logical ? Expr(BoolLit{false}, v.at) : lit(0);
    const Expr all = v.array ? load(name, index, v.at) : var(name, v.at);
    body.insert(body.begin(), over_all(v, index, {v.at, Assignment{all, none}}));
  }

  /// How many expressions and loops name each variable.
  static void count(const Body& body, std::map<std::string, std::size_t>& out) {
    for (const Statement& s : body) {
      expressions(s, [&](const Expr& e) {
        std::set<std::string> names;
        if (e) collect_reads(e, names);
        for (const std::string& n : names) ++out[n];
      });
      if (const auto* d = std::get_if<Do>(&s.what)) ++out[d->variable];
      for (const auto* inner : bodies(s)) count(**inner, out);
    }
  }

  /// Loops of OpenACC, and those that OpenMP gives to a device, have scalars of their own where no
  /// clause says otherwise: here, those that nothing outside of the loop uses.
  void make_scalars_private(const Directive& x, Body& body) {
    std::map<std::string, std::size_t> here, all;
    count(body, here), count(r_.body, all);
    std::set<std::string> known;
    for (const auto* names : {&x.privates, &x.firstprivate, &x.lastprivates})
      known.insert(names->begin(), names->end());
    each(body, [&](const Statement& s) {
      if (const auto* d = std::get_if<Do>(&s.what)) known.insert(d->variable);
    });
    for (const std::string& name : changed_in(body)) {
      const auto it = r_.variables.find(name);
      if (it == r_.variables.end() || known.count(name) || all[name] > here[name]) continue;
      const Variable& v = it->second;
      if (!v.array && !v.dummy && !v.host && !v.saved && !v.result) begin(name, body);
    }
  }

  /// Iterations have one of their own. What a thread's next iteration would find in it is not what
  /// the loop in order would, so that each has to set it first.
  void keep_apart(const std::string& name, const Directive& x, Body& body) {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end() || !assigns(body, name)) return;
    const Variable v = it->second;
    const bool known = std::all_of(v.bounds.begin(), v.bounds.end(),
                                   [](const Bounds& b) { return static_cast<bool>(b.upper); });
    const bool set = v.array ? known && is_set_first(body, name) && !is_asked_by_data(body, name)
                             : is_set_before_use(body, name);
    if (v.character || (v.logical && v.dummy) || !set)
      fail("unsupported", x.at,
           "`firstprivate` of `{}`, which is assigned there, is not supported in Fortran kernels",
           name);
    const std::string own = fresh_name(r_, name);
    r_.variables.emplace(own, local_like(v, own));
    rename_in(body, {{name, own}});
  }

  /// All of the variable `from`, which is like `v`, to `to`.
  Statement moved(const Variable& v, const std::string& to, const std::string& from,
                  const Span& at) {
    if (!v.array) return {at, Assignment{var(to, at), var(from, at)}};
    const Exprs index = axes(v);
    return over_all(v, index, {at, Assignment{load(to, index, at), load(from, index, at)}});
  }
  Exprs axes(const Variable& v) {
    Exprs index;
    for (std::size_t i = 0; i < v.bounds.size(); ++i)
      index.push_back(new_scalar(r_, "axis", moonloop::Scalar::I32, v.at));
    return index;
  }
  /// A statement for all elements, the first axis innermost.
  static Statement over_all(const Variable& v, const Exprs& index, Statement s) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      Do d;
      d.variable = written_name(index[i]);
      d.from = first_of(v.bounds[i]);
      d.to = v.bounds[i].upper;
      d.body = std::make_shared<Body>(Body{std::move(s)});
      s = {v.at, std::move(d)};
    }
    return s;
  }

  /// Each iteration begins with a copy of the variable.
  void give_to_each(const std::string& name, const Directive& x, Body& body) {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end()) return;
    const Variable v = it->second;
    const bool known = std::all_of(v.bounds.begin(), v.bounds.end(),
                                   [](const Bounds& b) { return static_cast<bool>(b.upper); });
    if (v.character || (v.logical && v.dummy) || !known)
      fail("unsupported", x.at,
           "`private` of `{}`, which is set before the loop and which a call in it may change, is "
           "not supported in Fortran kernels",
           name);
    const std::string own = fresh_name(r_, name);
    r_.variables.emplace(own, local_like(v, own));
    rename_in(body, {{name, own}});
    body.insert(body.begin(), moved(v, own, name, x.at));
  }

  /// Where the variable is used outside of the loop too, iterations have another one.
  void privatize(const std::string& name, const Directive& x, const std::vector<Do*>& nest,
                 Body& body, bool last) {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end() || !assigns(body, name)) return;
    const Variable v = it->second;
    const bool outside =
        v.dummy || v.result || v.saved || v.host || mentions(r_.body, name) > mentions(body, name);
    if (!outside) return begin(name, body);
    const char* const clause = last ? "lastprivate" : "private";
    const auto refuse = [&](std::string_view what) {
      fail("unsupported", x.at, "`{}` of `{}`, {}, is not supported in Fortran kernels", clause,
           name, what);
    };
    if (v.logical && v.dummy) refuse("a logical argument");
    for (const Bounds& b : v.bounds)
      if (!b.upper) refuse("whose size is assumed");
    const std::string new_name = fresh_name(r_, name);
    r_.variables.emplace(new_name, local_like(v, new_name));
    rename_in(body, {{name, new_name}});
    begin(new_name, body);
    if (!last) return;
    Exprs at_last;
    for (const Do* d : nest) {
      for (const Expr* e : {&d->from, &d->to, &d->step})
        if (*e)
          for (const auto& [other, variable] : r_.variables)
            if (mentions(*e, other) && assigns(body, other))
              refuse("of a loop whose bounds it changes");
      const auto step = d->step ? as_int(without_casts(d->step)) : std::optional<std::int64_t>(1);
      if (!step || *step == 0) refuse("of a loop whose step is not a constant");
      const Expr turns(Binary{BinaryOp::FloorDiv, index_sub(d->to, d->from), lit(*step)});
      const Expr end =
          *step == 1 || *step == -1 ? d->to : index_add({d->from, index_mul(lit(*step), turns)});
      at_last.push_back(Expr(Compare{CompareOp::Eq, var(d->variable, x.at), end}, x.at));
    }
    Body keep;
    keep.push_back(moved(v, name, new_name, x.at));
    Choice c;
    c.arms.push_back({conjunction(at_last), std::make_shared<Body>(std::move(keep))});
    body.push_back({x.at, std::move(c)});
  }

  Routine& r_;
  bool lanes_;
};

}  // namespace

void share_data(Routine& routine, bool lanes) { Sharing(routine, lanes).visit(routine.body); }

}  // namespace moonloop::fortran
