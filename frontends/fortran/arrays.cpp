#include <algorithm>
#include <limits>

#include "core/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Assignments to arrays as loops over elements, which run in any order where they are meant to be
// at once: by way of a new array where an element is read elsewhere than where it is written.
namespace moonloop::fortran {
namespace {

/// A loop of a variable over a range.
using Range = Forall::Range;

bool mentions(const Expr& e, const std::set<std::string>& names) {
  std::set<std::string> reads;
  if (e) collect_reads(e, reads);
  return std::any_of(reads.begin(), reads.end(),
                     [&](const std::string& n) { return names.count(n) != 0; });
}

/// Whether `e` reads the array of the place `to` at other subscripts than those of `to`.
bool reads_elsewhere(const Expr& e, const Expr& to) {
  if (!e || equal(e, to)) return false;
  const std::string& array = written_name(to);
  const auto* v = e.as<Var>();
  const auto* l = e.as<Load>();
  if ((v && v->name == array) || (l && l->array == array)) return true;
  if (is_of_arrays(e) || !called(e, kArrays).empty()) return mentions(e, {array});
  bool found = false;
  for_each_child(e, [&](const Expr& x) { found = found || reads_elsewhere(x, to); });
  return found;
}

/// How many elements an axis has, where it has some.
Expr count(const Axis& a) {
  const Expr& first = a.step > 0 ? a.lower : a.upper;
  const Expr& last = a.step > 0 ? a.upper : a.lower;
  const std::int64_t size = std::abs(a.step);
  const Expr reach = index_add({index_sub(last, first), lit(size)});
  return size == 1 ? reach : call("truncdiv", {reach, lit(size)});
}

class Expansion {
 public:
  Expansion(Routine& r, const std::vector<Routine>& all) : r_(r), all_(all) {}

  void run() {
    for (auto& [name, v] : r_.variables)
      for (Bounds& b : v.bounds)
        for (Expr* e : {&b.lower, &b.upper})
          if (*e) *e = declared(*e);
    used_ = names_of(r_.body);
    r_.body = body(r_.body);
  }

 private:
  // ---- Names.

  /// What is used outside of the constructs that have variables of their own.
  static std::set<std::string> names_of(const Body& b) {
    std::set<std::string> out;
    for (Statement s : b) {
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
  std::string own_variable(const std::string& name, const Span& at) {
    const auto it = r_.variables.find(name);
    if (it != r_.variables.end() && !used_.count(name) && !it->second.dummy) return name;
    const Type type = it == r_.variables.end() ? Type(moonloop::Scalar::I32) : it->second.type;
    return new_scalar(r_, name, type, at).as<Var>()->name;
  }

  Expr kept(const Expr& e, const std::string& name, Body& out, const Span& at) {
    const Expr v = new_scalar(r_, name, type_of(e, r_, all_), at);
    out.push_back({at, Assignment{v, e}});
    return v;
  }

  // ---- What is computed once.

  /// `e` with array constructors as arrays and, where `once` holds, with scalars of arrays as
  /// variables.
  Expr prepared(const Expr& e, bool once, Body& out, const Span& at) {
    if (!e) return e;
    const Expr inner = map_children(e, [&](const Expr& x) { return prepared(x, once, out, at); });
    const auto* c = inner.as<Call>();
    if (c && c->name == kValues) return constructed(c->args, out, at);
    if (c && c->name == kTable) return table(c->args, at);
    if (const std::string end = called(inner, kBound); !end.empty()) {
      if (c->args.size() == 2) return bound(end, c->args[0], *as_int(c->args[1]));
      Exprs all;
      for (std::size_t i = 1; i <= axes_of(c->args[0], r_).size(); ++i)
        all.push_back(bound(end, c->args[0], static_cast<std::int64_t>(i)));
      return constructed(all, out, at);
    }
    const std::string makes = called(inner, kArrays);
    const bool function = !called(inner, kFunction).empty();
    if (function || !makes.empty() || !called(inner, kOfArray).empty()) {
      const Expr with = map_children(inner, [&](const Expr& x) {
        const bool needed = function ? !x.as<Var>() && !x.as<Load>() && !axes_of(x, r_).empty()
                                     : is_costly(x, makes == "matmul");
        return needed ? computed(x, out, at) : x;
      });
      if (!with.same_as(inner)) return prepared(with, once, out, at);
    }
    if (!once || !is_of_arrays(inner)) return inner;
    std::string name = called(inner, kOfArray) + called(inner, kFunction);
    if (const auto inside = name.rfind('%'); inside != std::string::npos)
      name = name.substr(inside + 1);
    return kept(inner, name + "_of", out, at);
  }

  /// It is better computed once than where each of its elements is needed; `often`: several times.
  static bool is_costly(const Expr& e, bool often) {
    bool found = false;
    walk(e, [&](const Expr& x) {
      const bool made = !called(x, kArrays).empty() && called(x, kArrays) != "transpose";
      found = found || !called(x, kElemental).empty() || (often && made);
      return !found && !is_of_arrays(x);
    });
    return found;
  }

  /// The array `e` in memory.
  Expr computed(const Expr& e, Body& out, const Span& at) {
    const std::vector<Axis> axes = axes_of(e, r_);
    Exprs numbers;
    const std::vector<Range> ranges = over(axes, numbers, at);
    const Expr place = room("array", ranges, type_of(e, r_, all_), at);
    at_once(ranges, place, element(e, numbers, r_), Expr(), out, at);
    Exprs sections;
    for (const Axis& x : axes)
      sections.push_back(Expr(Slice{lit(0), index_sub(count(x), lit(1)), lit(1)}, at));
    return load(place.as<Load>()->array, sections, at);
  }

  /// The first or the last subscript along an axis: 1 and 0 where it has no elements.
  Expr bound(const std::string& end, const Expr& e, std::int64_t dim) const {
    const auto axis = static_cast<std::size_t>(dim - 1);
    const bool last = end == "ubound";
    const auto* v = e.as<Var>();
    if (!v) return last ? call("max", {count(axes_of(e, r_).at(axis)), lit(0)}) : lit(1);
    const Bounds& b = r_.variables.at(v->name).bounds.at(axis);
    const Expr lower = b.lower ? b.lower : lit(1);
    if (as_int(lower) == 1)
      return last ? call("max", {axes_of(e, r_).at(axis).upper, lit(0)}) : lower;
    const Expr upper = axes_of(e, r_).at(axis).upper;
    return Expr(Select{Expr(Compare{CompareOp::Ge, upper, lower}), last ? upper : lower,
                       lit(last ? 0 : 1)});
  }

  /// A bound of an array by those of others. Where they have no elements it has none.
  Expr declared(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      const std::string end = called(x, kBound);
      const auto* of = end.empty() ? nullptr : x.as<Call>()->args[0].as<Var>();
      if (!of || x.as<Call>()->args.size() != 2) return x;
      const auto axis = static_cast<std::size_t>(*as_int(x.as<Call>()->args[1]) - 1);
      const Axis a = axes_of(x.as<Call>()->args[0], r_).at(axis);
      return end == "lbound" ? a.lower : a.upper;
    });
  }

  /// A new array whose bounds are set by the caller.
  Variable& new_array(const std::string& name, const Type& type, const Span& at) {
    Variable v;
    v.name = fresh_name(r_, name);
    v.at = at;
    v.array = true;
    v.logical = type.scalar == moonloop::Scalar::Bool;
    v.type = v.logical ? Type(moonloop::Scalar::I32) : type;
    const std::string own = v.name;
    return r_.variables.emplace(own, std::move(v)).first->second;
  }

  Expr table(const Exprs& args, const Span& at) {
    Variable& v = new_array("table", type_of(args.back(), r_, all_), at);
    const auto rank = static_cast<std::ptrdiff_t>(*as_int(args[0]));
    for (std::ptrdiff_t i = 0; i < rank; ++i)
      v.bounds.push_back({Expr(), args[static_cast<std::size_t>(i + 1)]});
    v.initial.assign(args.begin() + 1 + rank, args.end());
    v.constant = true;
    return var(v.name, at);
  }

  /// An array constructor as an array, its pieces one behind the other.
  Expr constructed(const Exprs& pieces, Body& out, const Span& at) {
    Variable& v = new_array("values", type_of(call(kValues, pieces), r_, all_), at);
    const std::string name = v.name;
    if (std::all_of(pieces.begin(), pieces.end(), is_literal)) {
      v.bounds.push_back({Expr(), lit(static_cast<std::int64_t>(pieces.size()))});
      v.initial = pieces;
      v.constant = true;
      return var(name, at);
    }
    Expr before = lit(0);  // elements so far
    for (const Expr& p : pieces) before = index_add({before, piece(name, before, p, out, at)});
    r_.variables.at(name).bounds.push_back({Expr(), before});
    return var(name, at);
  }

  /// Assigns a piece behind the first `before` elements; how many it has.
  Expr piece(const std::string& array, const Expr& before, const Expr& p, Body& out,
             const Span& at) {
    const auto place = [&](const Exprs& more) {
      Exprs terms{before};
      terms.insert(terms.end(), more.begin(), more.end());
      return load(array, {index_add(terms)}, at);
    };
    const auto* c = p.as<Call>();
    if (c && c->name == kImplied) {
      const auto step = as_int(c->args[3]);
      if (!step || *step == 0)
        fail("unsupported", at,
             "the step of an implied `do` that is no constant is not supported in Fortran kernels");
      const Axis axis{c->args[1], c->args[2], *step, Expr(), Expr()};
      Exprs numbers;
      const std::vector<Range> ranges = over({axis}, numbers, at);
      const Expr value = index_add({axis.lower, index_mul(lit(*step), numbers[0])});
      const auto width = static_cast<std::int64_t>(c->args.size() - 4);
      for (std::int64_t i = 0; i < width; ++i) {
        const Expr one = substitute(c->args[static_cast<std::size_t>(i + 4)],
                                    {{c->args[0].as<Var>()->name, value}});
        at_once(ranges, place({index_mul(lit(width), numbers[0]), lit(i + 1)}), one, Expr(), out,
                at);
      }
      return index_mul(lit(width), call("max", {count(axis), lit(0)}));
    }
    const std::vector<Axis> axes = axes_of(p, r_);
    if (axes.empty()) {
      out.push_back({at, Assignment{place({lit(1)}), p}});
      return lit(1);
    }
    Exprs numbers;
    const std::vector<Range> ranges = over(axes, numbers, at);
    at_once(ranges, place({numbers[0], lit(1)}), element(p, numbers, r_), Expr(), out, at);
    return call("max", {count(axes[0]), lit(0)});
  }
  static bool is_literal(const Expr& e) {
    const auto* u = e.as<Unary>();
    return e.as<IntLit>() || e.as<FloatLit>() || e.as<ComplexLit>() || e.as<BoolLit>() ||
           (u && u->op == UnaryOp::Neg && is_literal(u->arg));
  }

  // ---- Loops.

  static Body nest(const std::vector<Range>& ranges, Body inner, const Span& at) {
    for (std::size_t n = ranges.size(); n-- > 0;) {
      const Range& x = ranges[n];
      Do d{x.variable, x.from, x.to, x.step, std::make_shared<Body>(std::move(inner)), nullptr};
      inner = Body();
      inner.push_back({at, std::move(d)});
    }
    return inner;
  }
  static Body masked(const Expr& mask, Body inner, const Span& at) {
    if (!mask) return inner;
    Choice c;
    c.arms.push_back({mask, std::make_shared<Body>(std::move(inner))});
    Body out;
    out.push_back({at, std::move(c)});
    return out;
  }
  static void append(Body more, Body& out) {
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }

  /// Assigns in loops over `ranges`, outer ones first, at once.
  void at_once(const std::vector<Range>& ranges, const Expr& to, const Expr& value,
               const Expr& mask, Body& out, const Span& at) {
    const auto assign = [&](const Expr& place, const Expr& from) {
      Body one;
      one.push_back({at, Assignment{place, from}});
      append(nest(ranges, masked(mask, std::move(one), at), at), out);
    };
    bool elsewhere = reads_elsewhere(value, to) || reads_elsewhere(mask, to);
    if (const auto* l = to.as<Load>())
      for (const Expr& i : l->index) elsewhere = elsewhere || mentions(i, {l->array});
    if (!elsewhere) return assign(to, value);
    // An element for each iteration; so the mask and the place are as they were, too.
    const Expr place = room(written_name(to) + "_new", ranges, type_of(to, r_, all_), at);
    const auto* l = to.as<Load>();
    Exprs index;
    for (const Expr& i : l->index) {
      if (!mentions(i, {l->array})) {
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
    if (reads_elsewhere(mask, to)) {
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
  Expr room(const std::string& name, const std::vector<Range>& ranges, const Type& type,
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
  std::vector<Range> over(const std::vector<Axis>& axes, Exprs& numbers, const Span& at) {
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

  Body body(const Body& b) {
    Body out;
    for (const Statement& s : b)
      std::visit(overload{[&](const Assignment& a) { assignment(a, Expr(), s.at, out); },
                          [&](const Do& d) { loop(d, s.at, out); },
                          [&](const Choice& c) { choice(c, s.at, out); },
                          [&](const Leave&) { out.push_back(s); },
                          [&](const SubroutineCall& c) { subroutine(c, s.at, out); },
                          [&](const Where& w) { where(w, Expr(), s.at, out); },
                          [&](const Forall& f) { forall(f, s.at, out); }},
                 s.what);
    return out;
  }

  void loop(Do d, const Span& at, Body& out) {
    if (!d.step || as_int(d.step) == 1) without_empty(d);
    for (Expr* e : {&d.from, &d.to, &d.step}) *e = prepared(*e, false, out, at);
    if (d.variable.empty()) {  // counted, so that it is a loop as others
      d.variable = new_scalar(r_, "turn", moonloop::Scalar::I32, at).as<Var>()->name;
      d.from = lit(0);
      d.to = lit(std::numeric_limits<std::int32_t>::max() - 1);
    }
    d.body = std::make_shared<Body>(body(*d.body));
    out.push_back({at, std::move(d)});
  }

  /// The bounds of a loop upwards without what they say of arrays that have no elements: it does
  /// not run there anyway.
  void without_empty(Do& d) const {
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

  void choice(Choice c, const Span& at, Body& out) {
    for (Choice::Arm& a : c.arms) {
      a.condition = prepared(a.condition, false, out, at);
      a.body = std::make_shared<Body>(body(*a.body));
    }
    out.push_back({at, std::move(c)});
  }

  /// An argument that is an array but no part of one is computed before.
  void subroutine(SubroutineCall c, const Span& at, Body& out) {
    for (Expr& a : c.arguments) {
      a = prepared(a, false, out, at);
      if (a.as<Var>() || a.as<Load>()) continue;
      if (!axes_of(a, r_).empty()) a = computed(a, out, at);
    }
    out.push_back({at, std::move(c)});
  }

  void assignment(const Assignment& a, const Expr& mask, const Span& at, Body& out) {
    const bool array = !axes_of(a.to, r_).empty();
    const Expr value = prepared(a.value, array, out, at);
    if (!array) {
      out.push_back({at, Assignment{prepared(a.to, false, out, at), value, a.atomic}});
      return;
    }
    const Expr to = settled(prepared(a.to, true, out, at), out, at);
    Exprs numbers;
    const std::vector<Range> ranges = over(axes_of(to, r_), numbers, at);
    const Expr place = element(to, numbers, r_);
    at_once(ranges, place, element(value, numbers, r_), mask ? element(mask, numbers, r_) : Expr(),
            out, at);
  }

  /// The section `to` with its bounds in variables where the assignment changes what they read.
  Expr settled(const Expr& to, Body& out, const Span& at) {
    const auto* l = to.as<Load>();
    if (!l) return to;
    const auto still = [&](const Expr& e) {
      return mentions(e, {l->array}) ? kept(e, l->array + "_at", out, at) : e;
    };
    return map_children(
        to, [&](const Expr& i) { return i.as<Slice>() ? map_children(i, still) : still(i); });
  }

  // ---- Masks.

  static void assigned_by(const Body& b, std::set<std::string>& out) {
    for (const Statement& s : b) {
      if (const auto* a = std::get_if<Assignment>(&s.what)) out.insert(written_name(a->to));
      if (const auto* w = std::get_if<Where>(&s.what))
        for (const Where::Arm& a : w->arms) assigned_by(*a.body, out);
      if (const auto* f = std::get_if<Forall>(&s.what)) assigned_by(*f->body, out);
    }
  }

  /// The mask stays as it is at the construct's start. `alone`: one assignment is all there is.
  Expr lasting(const Expr& mask, const std::set<std::string>& assigned, bool alone, Body& out,
               const Span& at) {
    if (alone || !mentions(mask, assigned)) return mask;
    Exprs numbers;
    const std::vector<Range> ranges = over(axes_of(mask, r_), numbers, at);
    const Expr place = room("mask", ranges, moonloop::Scalar::Bool, at);
    at_once(ranges, place, element(mask, numbers, r_), Expr(), out, at);
    return var(place.as<Load>()->array, at);
  }

  void where(const Where& w, const Expr& outer, const Span& at, Body& out) {
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

  void forall(const Forall& f, const Span& at, Body& out) {
    if (f.concurrent)
      concurrent(f, at, out);
    else
      each_assignment(f, {}, Expr(), {}, at, out);
  }

  /// The construct's names as the routine has them, in expressions and in statements.
  std::map<std::string, std::string> own_names(const Forall& f, const Span& at) {
    std::map<std::string, std::string> out;
    for (const Range& x : f.ranges) out[x.variable] = own_variable(x.variable, at);
    for (const std::string& l : f.locals) {
      Variable v = r_.variables.at(l);
      v.name = fresh_name(r_, l);
      v.dummy = false;
      v.intent = Intent::Unknown;
      out[l] = v.name;
      r_.variables.emplace(v.name, v);
    }
    return out;
  }

  void concurrent(const Forall& f, const Span& at, Body& out) {
    const auto names = own_names(f, at);
    std::vector<Range> ranges = f.ranges;
    for (Range& x : ranges) {
      x.variable = names.at(x.variable);
      for (Expr* e : {&x.from, &x.to, &x.step}) *e = prepared(*e, false, out, at);
    }
    Body inner = *f.body;
    rename_in(inner, names);
    inner = body(inner);
    Body before;
    const Expr mask = f.mask ? prepared(rename(f.mask, names), false, before, at) : Expr();
    append(masked(mask, std::move(inner), at), before);
    append(nest(ranges, std::move(before), at), out);
  }

  /// Each assignment of a `forall` in loops of its own, those of the constructs around it too.
  void each_assignment(const Forall& f, std::vector<Range> ranges, const Expr& outer,
                       std::map<std::string, std::string> names, const Span& at, Body& out) {
    for (const auto& [name, own] : own_names(f, at)) names[name] = own;
    for (const Range& x : f.ranges) {
      const auto now = [&](const Expr& e) {
        return e ? prepared(rename(e, names), false, out, at) : e;
      };
      ranges.push_back({names.at(x.variable), now(x.from), now(x.to), now(x.step)});
    }
    Exprs masks;
    if (outer) masks.push_back(outer);
    if (f.mask) masks.push_back(prepared(rename(f.mask, names), false, out, at));
    Expr mask = masks.empty() ? Expr() : conjunction(masks);
    std::set<std::string> assigned;
    assigned_by(*f.body, assigned);
    if (mask && f.body->size() > 1 && mentions(mask, assigned)) {
      const Expr place = room("mask", ranges, moonloop::Scalar::Bool, at);
      at_once(ranges, place, mask, Expr(), out, at);
      mask = place;
    }
    for (const Statement& s : *f.body) {
      if (const auto* inner = std::get_if<Forall>(&s.what))
        each_assignment(*inner, ranges, mask, names, s.at, out);
      const auto* a = std::get_if<Assignment>(&s.what);
      if (!a) continue;
      const Expr to = rename(a->to, names);
      const Expr value = prepared(rename(a->value, names), false, out, s.at);
      Exprs numbers;
      std::vector<Range> all = ranges;
      for (const Range& x : over(axes_of(to, r_), numbers, s.at)) all.push_back(x);
      if (numbers.empty())
        at_once(all, to, value, mask, out, s.at);
      else
        at_once(all, element(to, numbers, r_), element(value, numbers, r_), mask, out, s.at);
    }
  }

  Routine& r_;
  const std::vector<Routine>& all_;
  std::set<std::string> used_;
  std::map<std::string, Expr> lengths_;  // of the axes that loops run along
};

}  // namespace

void expand_arrays(Routine& routine, const std::vector<Routine>& all) {
  Expansion(routine, all).run();
}

}  // namespace moonloop::fortran
