#include <algorithm>
#include <limits>

#include "core/base/diagnostic.h"
#include "frontends/fortran/expansion.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/texts.h"
#include "frontends/fortran/unread.h"
#include "frontends/fortran/uses.h"

// Assignments to arrays as loops over elements, in any order where they are meant to be
// simultaneous: via a new array where an element is read at another place than it is written.
namespace moonloop::fortran {
namespace {

bool mentions_any(const Expr& e, const std::set<std::string>& names) {
  std::set<std::string> reads;
  if (e) collect_reads(e, reads);
  return std::any_of(reads.begin(), reads.end(),
                     [&](const std::string& n) { return names.count(n) != 0; });
}

/// Whether the variable alone decides about the subscript, another one for each of its values.
bool counts(const Expr& subscript, const std::string& variable,
            const std::vector<Forall::Range>& ranges) {
  for (const Forall::Range& x : ranges)
    if (x.variable != variable && mentions(subscript, x.variable)) return false;
  const Expr next = substitute(subscript, {{variable, index_add({var(variable), lit(1)})}});
  const auto step = as_int(index_sub(next, subscript));
  return step && *step != 0;
}

/// Whether the two elements of an array can only be the same one in one iteration of the loops:
/// each of these goes along an axis of both, with the same subscript.
bool go_together(const Exprs& a, const Exprs& b, const std::vector<Forall::Range>& ranges) {
  if (a.size() != b.size()) return false;
  return std::all_of(ranges.begin(), ranges.end(), [&](const Forall::Range& x) {
    for (std::size_t axis = 0; axis < a.size(); ++axis)
      if (equal(a[axis], b[axis]) && counts(a[axis], x.variable, ranges)) return true;
    return false;
  });
}

/// Whether `e` reads the array of the place `to` where another iteration may write.
bool reads_elsewhere(const Expr& e, const Expr& to, const std::vector<Forall::Range>& ranges) {
  if (!e || equal(e, to)) return false;
  const std::string& array = written_name(to);
  const auto* v = e.as<Var>();
  const auto* l = e.as<Load>();
  const auto* place = to.as<Load>();
  const bool same = (v && v->name == array) || (l && l->array == array);
  if (same && !(l && place && go_together(place->index, l->index, ranges))) return true;
  if (is_of_arrays(e) || !called(e, kArrays).empty()) return mentions_any(e, {array});
  bool found = false;
  for_each_child(e, [&](const Expr& x) { found = found || reads_elsewhere(x, to, ranges); });
  return found;
}

/// The arrays that statements of a construct assign.
void assigned_by(const Body& b, std::set<std::string>& out) {
  for (const Statement& s : b) {
    if (const auto* a = std::get_if<Assignment>(&s.what)) out.insert(written_name(a->to));
    if (const auto* w = std::get_if<Where>(&s.what))
      for (const Where::Arm& a : w->arms) assigned_by(*a.body, out);
    if (const auto* f = std::get_if<Forall>(&s.what)) assigned_by(*f->body, out);
  }
}

}  // namespace

void Expansion::run() {
  for (auto& [name, v] : r_.variables)
    for (Bounds& b : v.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = declared(*e);
  used_ = names_of(r_.body);
  r_.body = body(r_.body);
  drop_unread(computed_, r_);
}

// ---- Names.

/// The names used outside of the constructs that have variables of their own.
std::set<std::string> Expansion::names_of(const Body& b) {
  std::set<std::string> out;
  for (const Statement& s : b) {
    expressions(s, [&](const Expr& e) {
      if (e) collect_reads(e, out);
    });
    if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
    for (const auto* inner : bodies(s)) out.merge(names_of(**inner));
    if (const auto* f = std::get_if<Forall>(&s.what)) {
      for (const Range& x : f->ranges) out.erase(x.variable);
      for (const std::string& l : f->locals) out.erase(l);
    }
  }
  return out;
}

/// A construct's own variable: under its name where nothing else has that.
std::string Expansion::own_variable(const std::string& name, const Span& at) {
  const auto it = r_.variables.find(name);
  if (it != r_.variables.end() && !used_.count(name) && !it->second.dummy) return name;
  const Type type = it == r_.variables.end() ? Type(moonloop::Scalar::I32) : it->second.type;
  return new_scalar(r_, name, type, at).as<Var>()->name;
}

Expr Expansion::kept(const Expr& e, const std::string& name, Body& out, const Span& at) {
  const Expr v = new_scalar(r_, name, type_of(e, r_, all_), at);
  out.push_back({at, Assignment{v, e}});
  computed_.insert(v.as<Var>()->name);
  return v;
}

// ---- Loops.

Body nest(const std::vector<Forall::Range>& ranges, Body inner, const Span& at) {
  for (std::size_t n = ranges.size(); n-- > 0;) {
    const Forall::Range& x = ranges[n];
    Do d{x.variable, x.from, x.to, x.step, std::make_shared<Body>(std::move(inner)), nullptr};
    inner = Body();
    inner.push_back({at, std::move(d)});
  }
  return inner;
}
Body masked(const Expr& mask, Body inner, const Span& at) {
  if (!mask) return inner;
  Choice c;
  c.arms.push_back({mask, std::make_shared<Body>(std::move(inner))});
  Body out;
  out.push_back({at, std::move(c)});
  return out;
}

/// Assigns in loops over `ranges`, outer ones first, at once.
void Expansion::at_once(const std::vector<Range>& ranges, const Expr& to, const Expr& value,
                        const Expr& mask, Body& out, const Span& at) {
  const auto assign = [&](const Expr& place, const Expr& from) {
    Body one;
    one.push_back({at, Assignment{place, from}});
    append(nest(ranges, masked(mask, std::move(one), at), at), out);
  };
  bool elsewhere = reads_elsewhere(value, to, ranges) || reads_elsewhere(mask, to, ranges);
  if (const auto* l = to.as<Load>())
    for (const Expr& i : l->index) elsewhere = elsewhere || mentions_any(i, {l->array});
  if (!elsewhere) return assign(to, value);
  // An element for each iteration; so the mask and the place are as they were, too.
  const Expr place = room(written_name(to) + "_new", ranges, type_of(to, r_, all_), at);
  const auto* l = to.as<Load>();
  Exprs index;
  for (const Expr& i : l->index) {
    if (!mentions_any(i, {l->array})) {
      index.push_back(i);
      continue;
    }
    const Expr where = room(l->array + "_at", ranges, moonloop::Scalar::I32, at);
    Body one;
    one.push_back({at, Assignment{where, i}});
    append(nest(ranges, masked(mask, std::move(one), at), at), out);
    index.push_back(where);
  }
  Expr still = mask;
  if (reads_elsewhere(mask, to, ranges)) {
    still = room(l->array + "_where", ranges, moonloop::Scalar::Bool, at);
    Body one;
    one.push_back({at, Assignment{still, mask}});
    append(nest(ranges, std::move(one), at), out);
  }
  assign(place, value);
  Body last;
  last.push_back({at, Assignment{load(l->array, index, to.at()), place}});
  append(nest(ranges, masked(still, std::move(last), at), at), out);
}

/// The element of a new array that the iteration of `ranges` has.
Expr Expansion::room(const std::string& name, const std::vector<Range>& ranges, const Type& type,
                     const Span& at) {
  Variable& v = new_array(name, type, at);
  Exprs index;
  for (std::size_t n = ranges.size(); n-- > 0;) {  // the innermost one is the fastest
    const Range& x = ranges[n];
    const auto step = x.step ? as_int(x.step) : std::optional<std::int64_t>(1);
    const auto known = lengths_.find(x.variable);
    if (known != lengths_.end())
      v.bounds.push_back({lit(0), index_sub(known->second, lit(1))});
    else if (step && *step < 0)
      v.bounds.push_back({x.to, x.from});
    else
      v.bounds.push_back({x.from, x.to});
    index.push_back(var(x.variable, at));
  }
  return load(v.name, index, at);
}

/// Loops over the numbers of elements, the last axis outermost; `numbers` gets one for each axis.
std::vector<Forall::Range> Expansion::over(const std::vector<Axis>& axes, Exprs& numbers,
                                           const Span& at) {
  std::vector<Range> out;
  numbers.resize(axes.size());
  for (std::size_t n = axes.size(); n-- > 0;) {
    numbers[n] = new_scalar(r_, "e", moonloop::Scalar::I32, at);
    const std::string& name = numbers[n].as<Var>()->name;
    const Expr all = count(axes[n]);
    // As long as the whole axis, since a section may be empty.
    lengths_.emplace(
        name, axes[n].most ? index_add({index_sub(axes[n].most, axes[n].least), lit(1)}) : all);
    out.push_back({name, lit(0), index_sub(all, lit(1)), Expr()});
  }
  return out;
}

// ---- Statements.

Body Expansion::body(const Body& b) {
  Body out;
  for (const Statement& s : b)
    std::visit(
        overload{[&](const Assignment& a) { assignment(a, Expr(), s.at, out); },
                 [&](const Do& d) { loop(d, s.at, out); },
                 [&](const Choice& c) { choice(c, s.at, out); },
                 [&](const Leave&) { out.push_back(s); }, [&](const Stop&) { out.push_back(s); },
                 [&](const SubroutineCall& c) { subroutine(c, s.at, out); },
                 [&](const Scope& x) {
                   out.push_back({s.at, Scope{std::make_shared<Body>(body(*x.body))}});
                 },
                 [](const Jump&) { ensure(false, "a jump is left"); },
                 [](const Mark&) { ensure(false, "a label is left"); },
                 [](const PointerAssignment&) { ensure(false, "a pointer is left"); },
                 [&](const Where& w) { where(w, Expr(), s.at, out); },
                 [&](const Forall& f) {
                   if (f.concurrent)
                     concurrent(f, s.at, out);
                   else
                     each_assignment(f, {}, s.at, out);
                 }},
        s.what);
  return out;
}

void Expansion::loop(Do d, const Span& at, Body& out) {
  if (!d.step || as_int(d.step) == 1) without_empty(d);
  for (Expr* e : {&d.from, &d.to, &d.step}) *e = prepared(*e, false, out, at);
  if (d.variable.empty()) {  // counted, so that it is a loop like others
    d.variable = new_scalar(r_, "turn", moonloop::Scalar::I32, at).as<Var>()->name;
    d.from = lit(0);
    d.to = lit(std::numeric_limits<std::int32_t>::max() - 1);
    d.endless = true;
  }
  d.body = std::make_shared<Body>(body(*d.body));
  out.push_back({at, std::move(d)});
}

/// The bounds of an upward loop without their cases for arrays without elements: it does not run
/// there anyway.
void Expansion::without_empty(Do& d) const {
  const auto plain = [](Expr& e) {
    while (e && e.as<Cast>() && is_integer(e.as<Cast>()->type.scalar)) e = e.as<Cast>()->arg;
  };
  plain(d.from), plain(d.to);
  if (!d.from || !d.to) return;
  const auto *low = d.from.as<Call>(), *high = d.to.as<Call>();
  if (low && high && called(d.from, kBound) == "lbound" && called(d.to, kBound) == "ubound" &&
      equal(low->args, high->args) && low->args[0].as<Var>()) {
    const Axis a =
        axes_of(low->args[0], r_).at(static_cast<std::size_t>(*as_int(low->args[1]) - 1));
    d.from = a.lower;
    d.to = a.upper;
    return;
  }
  if (as_int(d.from).value_or(0) < 1 || !high) return;
  Expr to = d.to;
  if (called(to, kBound) == "ubound" && high->args.size() == 2)
    to = bound("ubound", high->args[0], *as_int(high->args[1]));
  const auto* most = to.as<Call>();
  if (!most || most->name != "max" || most->args.size() != 2) return;
  for (std::size_t i = 0; i < 2; ++i)
    if (as_int(most->args[i]) == 0) d.to = most->args[1 - i];
  plain(d.to);
}

void Expansion::choice(const Choice& c, const Span& at, Body& out) {
  const auto condition = [&](const Expr& e, Body& before) {
    bool of_array = false;  // which statements under the condition shall not compute again
    if (!e) return e;
    walk(e, [&](const Expr& x) {
      of_array = of_array || !called(x, kOfArray).empty();
      return !of_array;
    });
    return prepared(e, of_array, before, at);
  };
  put_choice(c, 0, at, out, condition, [&](const Body& b) { return body(b); });
}

/// An argument that is an array but no part of one is computed before.
void Expansion::subroutine(SubroutineCall c, const Span& at, Body& out) {
  Body after;
  if (c.elemental) return elemental(std::move(c), at, out);
  text_arguments(c.name, c.arguments, out, after, at);
  for (Expr& a : c.arguments)
    if (!is_text(a, r_)) a = part(prepared(a, false, out, at), out, at);
  for (SubroutineCall& other : c.otherwise)  // its arguments are variables, and bounds of these
    for (Expr& a : other.arguments)
      if (!a.as<Var>()) a = prepared(a, false, out, at);
  out.push_back({at, std::move(c)});
  append(std::move(after), out);
}

/// A call for each element of the arguments that are arrays.
void Expansion::elemental(SubroutineCall c, const Span& at, Body& out) {
  c.elemental = false;
  c.otherwise.clear();
  c.own_axes.resize(c.arguments.size());
  Exprs numbers;
  std::vector<Range> ranges;
  for (std::size_t n = 0; n < c.arguments.size(); ++n) {
    Expr& a = c.arguments[n];
    if (is_text(a, r_))
      fail("unsupported", at,
           "the call of the elemental `{}` with texts and arrays is not supported in Fortran "
           "kernels",
           bare_name(c.name));
    a = prepared(a, true, out, at);
    const std::vector<Axis> all = axes_of(a, r_);
    const auto own = std::min(c.own_axes[n], all.size());
    if (ranges.empty() && all.size() > own)
      ranges = over({all.begin() + std::ptrdiff_t(own), all.end()}, numbers, at);
  }
  for (std::size_t n = 0; n < c.arguments.size(); ++n) {
    Expr& a = c.arguments[n];
    if (axes_of(a, r_).size() <= c.own_axes[n]) continue;
    Exprs places(c.own_axes[n]);  // an axis without a number stays
    places.insert(places.end(), numbers.begin(), numbers.end());
    a = element(a, places, r_);
  }
  c.own_axes.clear();
  Body one;
  one.push_back({at, std::move(c)});
  append(nest(ranges, std::move(one), at), out);
}

void Expansion::assignment(const Assignment& a, const Expr& mask, const Span& at, Body& out) {
  if (is_text(a.to, r_) || is_text(a.value, r_)) return text_assignment(a, mask, at, out);
  bool makes = false;  // subscripts of its own: they have to be there to be seen as an array's
  for_each_of<Call>(a.to, [&](const Call& c, const Expr&) { makes = makes || c.name == kValues; });
  const Expr there = makes ? prepared(a.to, false, out, at) : a.to;
  const bool array = !axes_of(there, r_).empty();
  const Expr value = prepared(a.value, array, out, at);
  if (!array) {
    out.push_back({at, Assignment{prepared(there, false, out, at), value, a.atomic}});
    return;
  }
  const Expr to = settled(prepared(there, true, out, at), out, at);
  Exprs numbers;
  const std::vector<Range> ranges = over(axes_of(to, r_), numbers, at);
  const Expr place = element(to, numbers, r_);
  at_once(ranges, place, element(value, numbers, r_), mask ? element(mask, numbers, r_) : Expr(),
          out, at);
}

/// The section `to` with its bounds in variables where the assignment changes what they read.
Expr Expansion::settled(const Expr& to, Body& out, const Span& at) {
  const auto* l = to.as<Load>();
  if (!l) return to;
  const auto still = [&](const Expr& e) {
    if (!mentions_any(e, {l->array})) return e;
    return axes_of(e, r_).empty() ? kept(e, l->array + "_at", out, at) : computed(e, out, at);
  };
  return map_children(
      to, [&](const Expr& i) { return i.as<Slice>() ? map_children(i, still) : still(i); });
}

// ---- Masks.

/// The mask stays as it is at the construct's start. `alone`: there is only one assignment.
Expr Expansion::lasting(const Expr& mask, const std::set<std::string>& assigned, bool alone,
                        Body& out, const Span& at) {
  if (alone || !mentions_any(mask, assigned)) return mask;
  Exprs numbers;
  const std::vector<Range> ranges = over(axes_of(mask, r_), numbers, at);
  const Expr place = room("mask", ranges, moonloop::Scalar::Bool, at);
  at_once(ranges, place, element(mask, numbers, r_), Expr(), out, at);
  return var(place.as<Load>()->array, at);
}

void Expansion::where(const Where& w, const Expr& outer, const Span& at, Body& out) {
  std::set<std::string> assigned;
  for (const Where::Arm& a : w.arms) assigned_by(*a.body, assigned);
  const bool alone = w.arms.size() == 1 && w.arms[0].body->size() == 1 && !outer &&
                     std::holds_alternative<Assignment>(w.arms[0].body->front().what);
  Exprs before;  // what must hold for an element to be in this arm
  if (outer) before.push_back(outer);
  for (const Where::Arm& a : w.arms) {
    Exprs all = before;
    if (a.mask) {
      const Expr mask = lasting(prepared(a.mask, true, out, at), assigned, alone, out, at);
      all.push_back(mask);
      before.push_back(negation(mask));
    }
    const Expr here = conjunction(all);
    for (const Statement& s : *a.body) {
      if (const auto* x = std::get_if<Assignment>(&s.what)) assignment(*x, here, s.at, out);
      if (const auto* x = std::get_if<Where>(&s.what)) where(*x, here, s.at, out);
    }
  }
}

// ---- Variables of a construct.

/// The construct's names as the routine has them, in expressions and in statements.
std::map<std::string, std::string> Expansion::own_names(const Forall& f, const Span& at) {
  std::map<std::string, std::string> out;
  for (const Forall::Range& x : f.ranges) out[x.variable] = own_variable(x.variable, at);
  for (const std::string& l : f.locals) {
    out[l] = fresh_name(r_, l);
    r_.variables.emplace(out[l], local_like(r_.variables.at(l), out[l]));
  }
  return out;
}

void Expansion::concurrent(const Forall& f, const Span& at, Body& out) {
  const auto names = own_names(f, at);
  std::vector<Range> ranges = f.ranges;
  for (Range& x : ranges) {
    x.variable = names.at(x.variable);
    for (Expr* e : {&x.from, &x.to, &x.step}) *e = prepared(*e, false, out, at);
  }
  Body inner;
  for (const std::string& l : f.initials)
    inner.push_back({at, Assignment{var(names.at(l), at), var(l, at)}});
  Body of = *f.body;
  rename_in(of, names);
  append(body(of), inner);
  Body before;
  const Expr mask = f.mask ? prepared(rename(f.mask, names), false, before, at) : Expr();
  append(masked(mask, std::move(inner), at), before);
  append(nest(ranges, std::move(before), at), out);
}

/// `e` in the routine's names. Statements before the loops must not depend on them.
Expr Expansion::in_forall(const Expr& e, const Each& around, Body& out, const Span& at) {
  if (!e) return e;
  Body before;
  const Expr now = prepared(rename(e, around.names), false, before, at);
  const std::set<std::string> names = names_of(before);
  for (const Range& x : around.ranges)
    if (names.count(x.variable))
      fail("unsupported", at,
           "an array that each iteration of `forall` makes is not supported in Fortran kernels");
  append(std::move(before), out);
  return now;
}

/// Each assignment of a `forall` in loops of its own, those of the constructs around it too.
void Expansion::each_assignment(const Forall& f, Each around, const Span& at, Body& out) {
  for (const auto& [name, own] : own_names(f, at)) around.names[name] = own;
  for (const Range& x : f.ranges) {
    const auto now = [&](const Expr& e) { return in_forall(e, around, out, at); };
    around.ranges.push_back({around.names.at(x.variable), now(x.from), now(x.to), now(x.step)});
  }
  if (f.mask) {
    const Expr own = in_forall(f.mask, around, out, at);
    around.mask = around.mask ? conjunction({around.mask, own}) : own;
  }
  std::set<std::string> assigned;
  assigned_by(*f.body, assigned);
  if (around.mask && f.body->size() > 1 && mentions_any(around.mask, assigned)) {
    const Expr place = room("mask", around.ranges, moonloop::Scalar::Bool, at);
    at_once(around.ranges, place, around.mask, Expr(), out, at);
    around.mask = place;
  }
  for (const Statement& s : *f.body) {
    if (const auto* inner = std::get_if<Forall>(&s.what))
      each_assignment(*inner, around, s.at, out);
    if (const auto* w = std::get_if<Where>(&s.what)) each_masked(*w, around, Expr(), s.at, out);
    if (const auto* a = std::get_if<Assignment>(&s.what))
      each_element(*a, around, Expr(), s.at, out);
  }
}

/// An assignment in a `forall`, where an array's elements hold or `mask` is null.
void Expansion::each_element(const Assignment& a, const Each& around, const Expr& mask,
                             const Span& at, Body& out) {
  if (is_text(a.to, r_) || is_text(a.value, r_))
    fail("unsupported", at, "a text in `forall` is not supported in Fortran kernels");
  const Expr to = in_forall(a.to, around, out, at), value = in_forall(a.value, around, out, at);
  std::vector<Range> all = around.ranges;
  Exprs numbers, masks;
  for (const Range& x : over(axes_of(to, r_), numbers, at)) all.push_back(x);
  const auto one = [&](const Expr& e) { return numbers.empty() ? e : element(e, numbers, r_); };
  if (around.mask) masks.push_back(around.mask);
  if (mask) masks.push_back(one(mask));
  at_once(all, one(to), one(value), masks.empty() ? Expr() : conjunction(masks), out, at);
}

/// A `where` in a `forall`; `outer` holds where an element is in it at all.
void Expansion::each_masked(const Where& w, const Each& around, const Expr& outer, const Span& at,
                            Body& out) {
  std::set<std::string> assigned;
  for (const Where::Arm& a : w.arms) assigned_by(*a.body, assigned);
  Exprs before;
  if (outer) before.push_back(outer);
  for (const Where::Arm& arm : w.arms) {
    Exprs all = before;
    if (arm.mask) {
      Expr mask = in_forall(arm.mask, around, out, at);
      if (mentions_any(mask, assigned)) {  // it stays as it is at the construct's start
        std::vector<Range> ranges = around.ranges;
        const std::vector<Axis> axes = axes_of(mask, r_);
        Exprs numbers, index;
        for (const Range& x : over(axes, numbers, at)) ranges.push_back(x);
        const Expr place = room("mask", ranges, moonloop::Scalar::Bool, at);
        at_once(ranges, place, element(mask, numbers, r_), Expr(), out, at);
        for (const Axis& x : axes)
          index.push_back(Expr(Slice{lit(0), index_sub(count(x), lit(1)), lit(1)}, at));
        for (std::size_t n = around.ranges.size(); n-- > 0;)
          index.push_back(var(around.ranges[n].variable, at));
        mask = load(place.as<Load>()->array, index, at);
      }
      all.push_back(mask);
      before.push_back(negation(mask));
    }
    for (const Statement& s : *arm.body) {
      if (const auto* a = std::get_if<Assignment>(&s.what))
        each_element(*a, around, conjunction(all), s.at, out);
      if (const auto* inner = std::get_if<Where>(&s.what))
        each_masked(*inner, around, conjunction(all), s.at, out);
    }
  }
}

void expand_arrays(Routine& routine, const std::vector<Routine>& all) {
  Expansion(routine, all).run();
}

}  // namespace moonloop::fortran
