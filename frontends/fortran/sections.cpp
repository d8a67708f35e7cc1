#include "frontends/fortran/sections.h"

#include <algorithm>

#include "core/base/diagnostic.h"

namespace moonloop::fortran {
namespace {

/// The array that a name stands for as a whole; null for scalars and other expressions.
const Variable* whole_array(const Expr& e, const Routine& routine) {
  const auto* v = e.as<Var>();
  if (!v) return nullptr;
  const auto it = routine.variables.find(v->name);
  return it != routine.variables.end() && it->second.array ? &it->second : nullptr;
}

Expr last_of(const Variable& v, std::size_t axis, const Span& at) {
  if (!v.bounds[axis].upper)
    fail("unsupported", at, "the last axis of `{}` as a whole is not supported in Fortran kernels",
         v.name);
  return v.bounds[axis].upper;
}

Axis axis_of(const Slice& s, const Variable& v, std::size_t axis, const Span& at) {
  Axis out;
  if (s.step) out.step = s.step;
  if (as_int(out.step) == 0) fail("fortran", at, "the step of a section is zero");
  const Expr least = first_of(v.bounds[axis]);
  const auto most = [&] { return last_of(v, axis, at); };
  out.least = least;
  out.most = v.bounds[axis].upper;
  out.lower = s.start ? s.start : least;  // backwards too
  out.upper = s.stop ? s.stop : most();
  return out;
}

std::optional<std::vector<Axis>> place_axes(const Expr& e, const Routine& routine) {
  std::vector<Axis> out;
  if (const Variable* v = whole_array(e, routine)) {
    for (std::size_t i = 0; i < v->bounds.size(); ++i)
      out.push_back({first_of(v->bounds[i]), last_of(*v, i, e.at()), lit(1), first_of(v->bounds[i]),
                     v->bounds[i].upper});
    return out;
  }
  const auto* l = e.as<Load>();
  if (!l) return std::nullopt;
  const Variable& v = routine.variables.at(l->array);
  for (std::size_t i = 0; i < l->index.size(); ++i) {
    if (const auto* s = l->index[i].as<Slice>()) {
      out.push_back(axis_of(*s, v, i, e.at()));
    } else {  // subscripts that an array has
      const std::vector<Axis> own = axes_of(l->index[i], routine);
      out.insert(out.end(), own.begin(), own.end());
    }
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

/// `e`'s axes without the one that a reduction runs along, or with the one that a copy adds.
std::vector<Axis> without(std::vector<Axis> axes, const Expr& dim) {
  axes.erase(axes.begin() + (*as_int(dim) - 1));
  return axes;
}

/// The axes of an intrinsic's result.
std::vector<Axis> made_axes(const std::string& name, const Exprs& args, const Routine& routine) {
  std::vector<Axis> axes = axes_of(args[0], routine);
  if (name == "transpose") return {axes.at(1), axes.at(0)};
  if (name == "matmul") {
    const std::vector<Axis> right = axes_of(args[1], routine);
    std::vector<Axis> out;
    if (axes.size() == 2) out.push_back(axes[0]);
    if (right.size() == 2) out.push_back(right[1]);
    return out;
  }
  if (name != "spread") return without(std::move(axes), args[1]);
  axes.insert(axes.begin() + (*as_int(args[1]) - 1), {lit(1), args[2], lit(1), lit(1), args[2]});
  return axes;
}

/// The axes of an array that is not the result of an operation on arrays; absent for others.
std::optional<std::vector<Axis>> own_axes(const Expr& e, const Routine& routine) {
  if (const std::string name = called(e, kArrays); !name.empty())
    return made_axes(name, e.as<Call>()->args, routine);
  return place_axes(e, routine);
}

bool all(const Exprs& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](const Expr& n) { return bool(n); });
}

/// An element of an intrinsic's result, or of what is left of it.
Expr made_element(const Expr& e, const std::string& name, const Exprs& numbers, const Routine& r) {
  const Exprs& args = e.as<Call>()->args;
  const auto of = [&](const Expr& a, const Exprs& n) { return element(a, n, r); };
  const auto again = [&](Exprs with) { return call(kArrays + name, std::move(with), e.at()); };
  if (name == "transpose") {
    if (!numbers[0] && !numbers[1]) return e;
    return of(args[0], {numbers[1], numbers[0]});
  }
  if (name == "matmul") {
    const bool rows = axes_of(args[0], r).size() == 2, columns = axes_of(args[1], r).size() == 2;
    const Expr i = rows ? numbers[0] : Expr(), j = columns ? numbers.back() : Expr();
    const Expr left = i ? of(args[0], {i, Expr()}) : args[0];
    const Expr right = j ? of(args[1], {Expr(), j}) : args[1];
    return all(numbers) ? call(kOfArray + std::string("dot_product"), {left, right}, e.at())
                        : again({left, right});
  }
  const auto dim = static_cast<std::ptrdiff_t>(*as_int(args[1]) - 1);
  // The axis of the remaining array, where axes before it are gone.
  const auto left = [&](const Exprs& n) {
    return lit(std::count_if(n.begin(), n.begin() + dim, [](const Expr& x) { return !x; }) + 1);
  };
  Exprs inner = numbers;
  if (name == "spread") {
    const Expr& copy = numbers[static_cast<std::size_t>(dim)];
    inner.erase(inner.begin() + dim);
    const Expr from = inner.empty() ? args[0] : of(args[0], inner);
    return copy ? from : again({from, left(inner), args[2]});
  }
  inner.insert(inner.begin() + dim, Expr());
  Exprs with{of(args[0], inner)};
  if (!all(numbers)) with.push_back(left(inner));
  with.insert(with.end(), args.begin() + 2, args.end());
  return all(numbers) ? call(kOfArray + name, with, e.at()) : again(with);
}

}  // namespace

Expr first_of(const Bounds& b) { return b.lower ? b.lower : lit(1); }

Expr length(const Expr& first, const Expr& last, std::int64_t step) {
  const std::int64_t size = std::abs(step);
  const Expr reach =
      index_add({step > 0 ? index_sub(last, first) : index_sub(first, last), lit(size)});
  return size == 1 ? reach : call("truncdiv", {reach, lit(size)});
}

Expr length(const Expr& first, const Expr& last, const Expr& step) {
  if (const auto n = as_int(step)) return length(first, last, *n);
  return call("truncdiv", {index_add({index_sub(last, first), step}), step});
}

std::string called(const Expr& e, const char* prefix) {
  const auto* c = e.as<Call>();
  return c && c->name.starts_with(prefix) ? c->name.substr(std::string_view(prefix).size()) : "";
}

bool is_absent(const Expr& e) {
  const auto* c = e ? e.as<Call>() : nullptr;
  return c && c->name == kAbsent;
}

bool is_of_arrays(const Expr& e) {
  return !called(e, kOfArray).empty() || !called(e, kFunction).empty();
}

std::vector<Axis> axes_of(const Expr& e, const Routine& routine) {
  std::vector<Axis> out;
  walk(e, [&](const Expr& x) {
    if (!out.empty() || is_of_arrays(x)) return false;
    const auto axes = own_axes(x, routine);
    if (axes) out = *axes;
    return !axes;
  });
  return out;
}

Expr element(const Expr& e, const Exprs& numbers, const Routine& routine) {
  if (is_of_arrays(e)) return e;
  if (const std::string name = called(e, kArrays); !name.empty())
    return made_element(e, name, numbers, routine);
  const auto axes = place_axes(e, routine);
  if (!axes) {
    const Expr out = map_children(e, [&](const Expr& x) { return element(x, numbers, routine); });
    const std::string function = called(e, kElemental);
    return function.empty() || !all(numbers)
               ? out
               : call(kFunction + function, out.as<Call>()->args, e.at());
  }
  if (axes->size() != numbers.size()) throw InternalError("an array expression of several ranks");
  std::size_t next = 0;
  const auto subscript = [&](const Expr& slice) {
    const Axis& a = (*axes)[next];
    const Expr& number = numbers[next++];
    return number ? index_add({a.lower, index_mul(a.step, number)}) : slice;
  };
  Exprs index;
  const auto* l = e.as<Load>();
  if (!l) {
    const Expr slice(Slice{Expr(), Expr(), lit(1)}, e.at());
    while (next < axes->size()) index.push_back(subscript(slice));
    return load(e.as<Var>()->name, index, e.at());
  }
  for (const Expr& i : l->index) {
    if (i.as<Slice>() || axes_of(i, routine).empty())
      index.push_back(i.as<Slice>() ? subscript(i) : i);
    else
      index.push_back(element(i, {numbers[next++]}, routine));
  }
  return load(l->array, index, e.at());
}

Expr first_in_memory(const Expr& e, const Routine& routine) {
  const auto* l = e.as<Load>();
  if (!l) return e;
  const Variable& v = routine.variables.at(l->array);
  Exprs first;
  bool all = true;  // the axes so far are whole
  for (std::size_t i = 0; i < l->index.size(); ++i) {
    const auto* s = l->index[i].as<Slice>();
    if (!s) {
      all = false;
      first.push_back(l->index[i]);
      continue;
    }
    const Expr from = first_of(v.bounds[i]), to = v.bounds[i].upper;
    if (!all || (s->step && as_int(s->step) != 1)) return Expr();
    all = (!s->start || equal(s->start, from)) && (!s->stop || (to && equal(s->stop, to)));
    first.push_back(s->start ? s->start : from);
  }
  return load(l->array, std::move(first), e.at());
}

}  // namespace moonloop::fortran
