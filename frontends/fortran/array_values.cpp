#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/expansion.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/texts.h"
#include "frontends/fortran/uses.h"

// Arrays that expressions make, in memory before the statement that needs them.
namespace moonloop::fortran {
namespace {

/// It is better computed once than where each of its elements is needed; `often`: several times.
bool is_costly(const Expr& e, bool often) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    const bool made = !called(x, kArrays).empty() && called(x, kArrays) != "transpose";
    found = found || !called(x, kElemental).empty() || (often && made);
    return !found && !is_of_arrays(x);
  });
  return found;
}

/// Whether it is an array whose number of elements needs a division by a variable.
bool has_varying_step(const Expr& e, const Routine& r) {
  const std::vector<Axis> axes = axes_of(e, r);
  return std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return !as_int(a.step); });
}

/// Of two truth values.
Expr differ(const Expr& a, const Expr& b) {
  return Expr(Nary{NaryOp::Or, {conjunction({a, negation(b)}), conjunction({negation(a), b})}});
}

bool is_literal(const Expr& e) {
  const auto* u = e.as<Unary>();
  return e.as<IntLit>() || e.as<FloatLit>() || e.as<ComplexLit>() || e.as<BoolLit>() ||
         (u && u->op == UnaryOp::Neg && is_literal(u->arg));
}

/// Whether the element `here` is the one that `maxloc`, `minloc` or `findloc` wants, rather than
/// `best`, which is at `place`, 0 for none; where `back` holds, the last of equal ones.
Expr is_better(const std::string& name, const Expr& here, const Expr& best, const Expr& place,
               const Expr& back, const Type& type) {
  const auto compare = [](CompareOp op, const Expr& a, const Expr& b) {
    return Expr(Compare{op, a, b});
  };
  const auto either = [](Exprs all) { return Expr(Nary{NaryOp::Or, std::move(all)}); };
  const Expr none = compare(CompareOp::Eq, place, lit(0));
  const auto* known = back.as<BoolLit>();
  if (name == "findloc") {
    const Expr same = type.scalar == moonloop::Scalar::Bool ? negation(differ(here, best))
                                                            : compare(CompareOp::Eq, here, best);
    if (known && known->value) return same;
    return conjunction({same, known ? none : either({none, back})});
  }
  const bool most = name == "maxloc", last = known && known->value;
  Exprs any{none, compare(most ? (last ? CompareOp::Ge : CompareOp::Gt)
                               : (last ? CompareOp::Le : CompareOp::Lt),
                          here, best)};
  if (!known) any.push_back(conjunction({back, compare(CompareOp::Eq, here, best)}));
  if (is_real(type.scalar))  // a number comes before a NaN
    any.push_back(
        conjunction({compare(CompareOp::Ne, best, best), compare(CompareOp::Eq, here, here)}));
  return either(std::move(any));
}

/// A name for the result of the function `name`, which may be within another routine.
std::string variable_of(const std::string& name) {
  const std::string bare = bare_name(name);
  const auto inside = bare.rfind('%');
  return (inside == std::string::npos ? bare : bare.substr(inside + 1)) + "_of";
}

}  // namespace

/// `e` with array constructors as arrays and, where `once` holds, with scalars of arrays as
/// variables.
Expr Expansion::prepared(const Expr& e, bool once, Body& out, const Span& at) {
  if (!e) return e;
  if (const std::string name = called(e, kOfTexts); !name.empty() && !is_text(e, r_))
    return prepared(of_texts(name, e.as<Call>()->args, out, at), once, out, at);
  if (const Expr with = with_text_arguments(e, out, at); !with.same_as(e))
    return prepared(with, once, out, at);
  const auto* typed = e.as<Cast>();
  if (typed && !called(typed->arg, kFunction).empty()) {  // the conversion has its type
    const Expr f = map_children(with_text_arguments(typed->arg, out, at), [&](const Expr& x) {
      return part(prepared(x, once, out, at), out, at);
    });
    const Expr value(Cast{typed->type, f}, e.at());
    return once ? kept(value, variable_of(called(f, kFunction)), out, at) : value;
  }
  const auto* implied = e.as<Call>();
  if (implied && implied->name == kImplied) {  // its values are other ones at each of its turns
    Call still = *implied;
    for (std::size_t i = 1; i < 4; ++i) still.args[i] = prepared(still.args[i], once, out, at);
    return Expr(std::move(still), e.at());
  }
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
  if (const std::string name = called(inner, kArrayFunction); !name.empty())
    return given(name, c->args, out, at);
  if (const std::string name = called(inner, kMade); !name.empty())
    return name == "reshape"        ? reshaped(c->args, out, at)
           : name == "pack"         ? packed(c->args, out, at)
           : name == "cshift"       ? shifted(true, c->args, out, at)
           : name == "eoshift"      ? shifted(false, c->args, out, at)
           : !name.ends_with("loc") ? of_bits(name, c->args, out, at)
                                    : place_of_extreme(name, c->args, out, at);
  const bool function = !called(inner, kFunction).empty();
  if (function || !makes.empty() || !called(inner, kOfArray).empty()) {
    const Expr with = map_children(inner, [&](const Expr& x) {
      if (function) return part(x, out, at);
      return is_costly(x, makes == "matmul" || makes == "spread") || has_varying_step(x, r_)
                 ? computed(x, out, at)
                 : x;
    });
    if (!with.same_as(inner)) return prepared(with, once, out, at);
  }
  if (!once || !is_of_arrays(inner)) return inner;
  return kept(inner, variable_of(called(inner, kOfArray) + called(inner, kFunction)), out, at);
}

/// The array `e` in memory.
Expr Expansion::computed(const Expr& e, Body& out, const Span& at) {
  const std::vector<Axis> axes = axes_of(e, r_);
  Exprs numbers;
  const std::vector<Range> ranges = over(axes, numbers, at);
  const Expr place = room("array", ranges, type_of(e, r_, all_), at);
  at_once(ranges, place, element(e, numbers, r_), Expr(), out, at);
  Exprs sections;
  for (const Axis& x : axes) {
    Expr n = count(x);
    if (!as_int(x.step)) n = kept(n, "length", out, at);
    sections.push_back(Expr(Slice{lit(0), index_sub(n, lit(1)), lit(1)}, at));
  }
  return load(place.as<Load>()->array, sections, at);
}

/// `e`, or a new array where it is one but no part of a variable.
Expr Expansion::part(const Expr& e, Body& out, const Span& at) {
  const Expr place = place_of(e, r_);
  if (!place) return axes_of(e, r_).empty() ? e : computed(e, out, at);
  const auto* l = place.as<Load>();
  const bool is_part =
      place.as<Var>() || (l && std::all_of(l->index.begin(), l->index.end(), [&](const Expr& i) {
                            return i.as<Slice>() || axes_of(i, r_).empty();
                          }));
  return is_part || axes_of(e, r_).empty() ? e : computed(e, out, at);
}

/// The first or the last subscript along an axis: 1 and 0 where it has no elements.
Expr Expansion::bound(const std::string& end, const Expr& e, std::int64_t dim) const {
  const auto axis = static_cast<std::size_t>(dim - 1);
  const bool last = end == "ubound";
  const auto* v = e.as<Var>();
  if (!v) return last ? call("max", {count(axes_of(e, r_).at(axis)), lit(0)}) : lit(1);
  const Bounds& b = r_.variables.at(v->name).bounds.at(axis);
  const Expr lower = first_of(b);
  // The standard gives an array of assumed size its declared lower bound, however long it is.
  if (!last && (as_int(lower) == 1 || !b.upper)) return lower;
  const Expr upper = b.upper ? b.upper : axes_of(e, r_).at(axis).upper;  // fails for the last `*`
  if (as_int(lower) == 1) return call("max", {upper, lit(0)});
  return Expr(
      Select{Expr(Compare{CompareOp::Ge, upper, lower}), last ? upper : lower, lit(last ? 0 : 1)});
}

/// A bound of an array by those of others. Where they have no elements it has none.
Expr Expansion::declared(const Expr& e) const {
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
Variable& Expansion::new_array(const std::string& name, const Type& type, const Span& at) {
  Variable v;
  v.name = fresh_name(r_, name);
  v.at = at;
  v.array = true;
  v.logical = type.scalar == moonloop::Scalar::Bool;
  v.type = v.logical ? Type(moonloop::Scalar::I32) : type;
  const std::string own = v.name;
  return r_.variables.emplace(own, std::move(v)).first->second;
}

Expr Expansion::table(const Exprs& args, const Span& at) {
  Variable& v = new_array("table", type_of(args.back(), r_, all_), at);
  const auto rank = static_cast<std::ptrdiff_t>(*as_int(args[0]));
  for (std::ptrdiff_t i = 0; i < rank; ++i)
    v.bounds.push_back({Expr(), args[static_cast<std::size_t>(i + 1)]});
  v.initial.assign(args.begin() + 1 + rank, args.end());
  v.constant = true;
  return var(v.name, at);
}

/// An array constructor as an array, its pieces one after the other.
Expr Expansion::constructed(const Exprs& pieces, Body& out, const Span& at) {
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

/// How many elements a piece has.
Expr Expansion::length(const Expr& p, const Span& at) const {
  const auto elements = [](const Axis& a) { return call("max", {count(a), lit(0)}); };
  const auto* c = p.as<Call>();
  if (!c || c->name != kImplied) {
    const std::vector<Axis> axes = axes_of(p, r_);
    return axes.empty() ? lit(1) : elements(axes[0]);
  }
  Expr width = lit(0);
  for (std::size_t i = 4; i < c->args.size(); ++i)
    width = index_add({width, length(c->args[i], at)});
  return index_mul(width, elements(Axis{c->args[1], c->args[2], c->args[3], {}, {}}));
}

/// Assigns a piece after the first `before` elements; returns how many it has.
Expr Expansion::piece(const std::string& array, const Expr& before, const Expr& p, Body& out,
                      const Span& at) {
  const auto place = [&](const Exprs& more) {
    Exprs terms{before};
    terms.insert(terms.end(), more.begin(), more.end());
    return load(array, {index_add(terms)}, at);
  };
  const auto* c = p.as<Call>();
  if (c && c->name == kImplied) {
    const Axis axis{c->args[1], c->args[2], c->args[3], Expr(), Expr()};
    const std::string& counter = c->args[0].as<Var>()->name;
    const Exprs values(c->args.begin() + 4, c->args.end());
    Expr width = lit(0);  // of a turn
    for (const Expr& v : values) width = index_add({width, length(v, at)});
    std::set<std::string> names;
    collect_reads(width, names);
    if (names.contains(counter))
      fail("unsupported", at,
           "an implied `do` whose turns have different numbers of values is not supported in "
           "Fortran kernels");
    Exprs numbers;
    const std::vector<Range> ranges = over({axis}, numbers, at);
    const Expr value = index_add({axis.lower, index_mul(axis.step, numbers[0])});
    Expr here = index_add({before, index_mul(width, numbers[0])});
    for (const Expr& v : values) {
      Body turn;
      const Expr now = prepared(substitute(v, {{counter, value}}), false, turn, at);
      here = index_add({here, piece(array, here, now, turn, at)});
      append(nest(ranges, std::move(turn), at), out);
    }
    return index_mul(width, call("max", {count(axis), lit(0)}));
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

// ---- Functions.

/// The array that a function of the input gives: one of the caller's, which the call fills.
Expr Expansion::given(const std::string& function, Exprs arguments, Body& out, const Span& at) {
  const Routine* f = find_routine(all_, function);
  if (!f) fail("unsupported", at, "the call of `{}` is not supported in Fortran kernels", function);
  for (Expr& a : arguments) a = part(a, out, at);
  std::map<std::string, Expr> values;  // of variables in the result's extents
  std::size_t next = 0;
  for (const std::string& name : f->arguments) {
    const Variable& dummy = f->variables.at(name);
    if (dummy.result || is_ours(dummy) || dummy.outer) continue;
    const Expr& a = arguments.at(next++);
    if (is_absent(a)) continue;
    if (!dummy.array) values.emplace(name, without_casts(a));
    for (std::size_t i = 0; i < dummy.bounds.size(); ++i)
      if (const std::string extent = extent_of(dummy.bounds[i], *f); !extent.empty())
        values.emplace(extent, count(axes_of(a, r_).at(i)));
  }
  for (const auto& [name, v] : f->variables)
    if (const auto it = values.find(v.entry_of); it != values.end()) values[name] = it->second;
  const Variable& result = result_of(*f);
  Variable& v = new_array(result.name, result.type, at);
  v.logical = result.logical;
  v.character = result.character;
  v.text = result.text;
  for (const Bounds& b : result.bounds)
    v.bounds.push_back({b.lower ? substitute(b.lower, values) : b.lower,
                        b.upper ? substitute(b.upper, values) : b.upper});
  const Expr whole = var(v.name, at);
  arguments.push_back(whole);
  out.push_back({at, SubroutineCall{function, std::move(arguments)}});
  return whole;
}

/// `maxloc` or `minloc`: the place, from 1 along each axis, of the first of the greatest or of the
/// least elements, or of the last one; `findloc`: of one that has a value; 0 where there is none.
/// Along one axis it is that of each row.
Expr Expansion::place_of_extreme(const std::string& name, const Exprs& args, Body& out,
                                 const Span& at) {
  const Expr array = is_costly(args[0], false) ? computed(args[0], out, at) : args[0];
  const std::vector<Axis> axes = axes_of(array, r_);
  const auto dim = static_cast<std::size_t>(*as_int(args[2]));
  if (dim > axes.size())
    fail("bad-axis", at, "the `dim` of `{}` is {}, and the axes are 1 to {}", name, dim,
         axes.size());
  const Type type = type_of(array, r_, all_);
  const Expr best = new_scalar(r_, "best", type, at);
  Exprs numbers, own, places;
  std::vector<Range> rows, along = over(axes, numbers, at);
  std::vector<Axis> left = axes;
  if (dim > 0 && axes.size() > 1) {
    const auto n = std::ptrdiff_t(axes.size() - dim);  // the last axis is the first range
    rows = along;
    rows.erase(rows.begin() + n);
    along = {along[axes.size() - dim]};
    left.erase(left.begin() + std::ptrdiff_t(dim - 1));
    own = {numbers[dim - 1]};
  } else {
    own = numbers;
  }
  Body each;
  for (std::size_t i = 0; i < own.size(); ++i) {
    places.push_back(new_scalar(r_, name, moonloop::Scalar::I32, at));
    each.push_back({at, Assignment{places.back(), lit(0)}});
  }
  const bool value = name == "findloc";
  each.push_back({at, Assignment{best, value ? args[4] : Expr(Cast{type, lit(0)})}});
  Body found;
  const Expr here = element(array, numbers, r_);
  if (!value) found.push_back({at, Assignment{best, here}});
  for (std::size_t i = 0; i < own.size(); ++i)
    found.push_back({at, Assignment{places[i], index_add({own[i], lit(1)})}});
  const bool one = axes_of(args[1], r_).empty();
  const Expr mask = one ? args[1] : element(args[1], numbers, r_);
  const Expr better = is_better(name, here, best, places[0], args[3], type);
  append(nest(along, masked(conjunction({mask, better}), std::move(found), at), at), each);
  if (rows.empty()) {
    append(std::move(each), out);
    return dim > 0 ? places[0] : constructed(places, out, at);
  }
  const Expr place = room(name, rows, moonloop::Scalar::I32, at);
  each.push_back({at, Assignment{place, places[0]}});
  append(nest(rows, std::move(each), at), out);
  Exprs sections;
  for (const Axis& x : left)
    sections.push_back(Expr(Slice{lit(0), index_sub(count(x), lit(1)), lit(1)}, at));
  return load(place.as<Load>()->array, sections, at);
}

/// What all elements that a mask selects have in their bits, or some, or an odd number of them.
Expr Expansion::of_bits(const std::string& name, const Exprs& args, Body& out, const Span& at) {
  const Expr array = is_costly(args[0], false) ? computed(args[0], out, at) : args[0];
  const Type type = type_of(array, r_, all_);
  const bool truth = name == "parity";
  const Expr result = new_scalar(r_, name, type, at);
  out.push_back({at, Assignment{result, truth            ? Expr(BoolLit{false})
                                        : name == "iall" ? lit(-1)
                                                         : lit(0)}});
  Exprs numbers;
  const std::vector<Range> ranges = over(axes_of(array, r_), numbers, at);
  const Expr here = element(array, numbers, r_);
  const NaryOp op = name == "iall"   ? NaryOp::BitAnd
                    : name == "iany" ? NaryOp::BitOr
                                     : NaryOp::BitXor;
  Body next;
  next.push_back(
      {at, Assignment{result, truth ? differ(result, here) : Expr(Nary{op, {result, here}}, at)}});
  const bool one = axes_of(args[1], r_).empty();
  append(
      nest(ranges, masked(one ? args[1] : element(args[1], numbers, r_), std::move(next), at), at),
      out);
  return result;
}

/// `cshift`, or `eoshift`: the elements that stay along the axis, and those that come in.
Expr Expansion::shifted(bool around, const Exprs& args, Body& out, const Span& at) {
  const Expr array = is_costly(args[0], true) ? computed(args[0], out, at) : args[0];
  const std::vector<Axis> axes = axes_of(array, r_);
  const std::size_t dim = static_cast<std::size_t>(*as_int(args[2])) - 1;
  const bool plain =
      dim < axes.size() && axes_of(args[1], r_).empty() && (around || axes_of(args[3], r_).empty());
  if (!plain)
    fail("unsupported", at,
         "a shift by other numbers for other elements is not supported in Fortran kernels");
  const Type type = type_of(array, r_, all_);
  Variable& made = new_array("shifted", type, at);
  for (const Axis& a : axes) made.bounds.push_back({Expr(), count(a)});
  const Expr whole = var(made.name, at);
  const Expr n = kept(Expr(Cast{moonloop::Scalar::I32, count(axes[dim])}), "length", out, at);
  const Expr some(Compare{CompareOp::Gt, n, lit(0)});
  const Expr by =
      kept(around ? Expr(Select{some, Expr(Binary{BinaryOp::Mod, args[1], n}), lit(0)}) : args[1],
           "shift", out, at);
  // Elements from one number along the axis to another one, from those `back` further on.
  const auto move = [&](const Expr& from, const Expr& to, const Expr& back) {
    Exprs numbers;
    std::vector<Range> ranges = over(axes, numbers, at);
    Range& along = ranges[axes.size() - 1 - dim];
    along.from = from;
    along.to = to;
    Exprs there = numbers;
    there[dim] = index_add({numbers[dim], back});
    Body one;
    one.push_back({at, Assignment{element(whole, numbers, r_), element(array, there, r_)}});
    append(nest(ranges, std::move(one), at), out);
  };
  const Expr last = index_sub(n, lit(1));
  if (around) {
    move(lit(0), index_sub(last, by), by);
    move(index_sub(n, by), last, index_sub(by, n));
    return whole;
  }
  Exprs numbers;
  const std::vector<Range> ranges = over(axes, numbers, at);
  at_once(ranges, element(whole, numbers, r_),
          is_absent(args[3]) ? Expr(Cast{type, lit(0)}) : args[3], Expr(), out, at);
  move(call("max", {lit(0), index_sub(lit(0), by)}), call("min", {last, index_sub(last, by)}), by);
  return whole;
}

/// `pack`: the elements that a mask selects, in their order; then, if it is given, the rest of a
/// vector.
Expr Expansion::packed(const Exprs& args, Body& out, const Span& at) {
  const Expr array = is_costly(args[0], false) ? computed(args[0], out, at) : args[0];
  const std::vector<Axis> axes = axes_of(array, r_);
  Variable& made = new_array("packed", type_of(array, r_, all_), at);
  const std::string name = made.name;
  Expr all = lit(1);
  for (const Axis& a : axes) {  // as long as the whole axis, as bounds of sections may change
    const bool section = a.most && !as_int(count(a));
    const Expr n = section ? index_add({index_sub(a.most, a.least), lit(1)}) : count(a);
    all = index_mul(all, call("max", {n, lit(0)}));
  }
  const bool vector = !is_absent(args[2]);
  made.bounds.push_back({Expr(), vector ? count(axes_of(args[2], r_).at(0)) : all});
  if (vector) {
    Exprs numbers;
    const std::vector<Range> ranges = over(axes_of(args[2], r_), numbers, at);
    at_once(ranges, element(var(name, at), numbers, r_), element(args[2], numbers, r_), Expr(), out,
            at);
  }
  const Expr n = new_scalar(r_, name + "_size", moonloop::Scalar::I32, at);
  out.push_back({at, Assignment{n, lit(0)}});
  Exprs numbers;
  const std::vector<Range> ranges = over(axes, numbers, at);
  Body taken;
  taken.push_back({at, Assignment{n, Expr(Nary{NaryOp::Add, {n, lit(1)}}, at)}});
  taken.push_back({at, Assignment{load(name, {n}, at), element(array, numbers, r_)}});
  const Expr mask = axes_of(args[1], r_).empty() ? args[1] : element(args[1], numbers, r_);
  append(nest(ranges, masked(mask, std::move(taken), at), at), out);
  if (vector) return var(name, at);
  return load(name, {Expr(Slice{lit(1), n, lit(1)}, at)}, at);
}

/// The elements of an array in another shape: via one axis, where it has several.
Expr Expansion::reshaped(const Exprs& args, Body& out, const Span& at) {
  const auto index_in = [](const Exprs& numbers, const Exprs& extents) {
    Expr out = lit(0);
    for (std::size_t i = numbers.size(); i-- > 0;)
      out = index_add({numbers[i], index_mul(extents[i], out)});
    return out;
  };
  const Type type = type_of(args[0], r_, all_);
  const std::vector<Axis> axes = axes_of(args[0], r_);
  std::string flat;  // an array of one axis, where `args[0]` has several
  if (axes.size() > 1) {
    Exprs extents, numbers;
    Expr all = lit(1);
    for (const Axis& a : axes) {
      extents.push_back(call("max", {count(a), lit(0)}));
      all = index_mul(all, extents.back());
    }
    Variable& v = new_array("flat", type, at);
    v.bounds.push_back({lit(0), index_sub(all, lit(1))});
    flat = v.name;
    const std::vector<Range> ranges = over(axes, numbers, at);
    at_once(ranges, load(flat, {index_in(numbers, extents)}, at), element(args[0], numbers, r_),
            Expr(), out, at);
  }
  Variable& made = new_array("reshaped", type, at);
  const Expr whole = var(made.name, at);
  const auto rank = static_cast<std::ptrdiff_t>(*as_int(args[1]));
  const Exprs extents(args.begin() + 2, args.begin() + 2 + rank);
  const Expr& pad = args[static_cast<std::size_t>(2 + rank)];
  for (const Expr& e : extents) made.bounds.push_back({Expr(), e});
  Exprs numbers, in_order, lengths;
  const std::vector<Range> ranges = over(axes_of(whole, r_), numbers, at);
  for (std::ptrdiff_t i = 0; i < rank; ++i) {
    const auto axis =
        static_cast<std::size_t>(*as_int(args[static_cast<std::size_t>(3 + rank + i)]) - 1);
    in_order.push_back(numbers.at(axis));
    lengths.push_back(extents.at(axis));
  }
  const Expr from = index_in(in_order, lengths);
  Expr value = flat.empty() ? element(args[0], {from}, r_) : load(flat, {from}, at);
  if (!is_absent(pad)) {
    Expr all = lit(1);
    for (const Axis& a : axes) all = index_mul(all, call("max", {count(a), lit(0)}));
    const Expr further(Binary{BinaryOp::Mod, index_sub(from, all), count(axes_of(pad, r_).at(0))});
    value = Expr(
        Select{Expr(Compare{CompareOp::Lt, from, all}), value, element(pad, {further}, r_)}, at);
  }
  at_once(ranges, element(whole, numbers, r_), value, Expr(), out, at);
  return whole;
}

}  // namespace moonloop::fortran
