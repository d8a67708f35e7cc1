#include "frontends/fortran/sections.h"

#include "core/diagnostic.h"

namespace moonloop::fortran {
namespace {

Expr first_of(const Bounds& b) { return b.lower ? b.lower : lit(1); }

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
  const auto step = s.step ? as_int(s.step) : std::optional<std::int64_t>(1);
  if (!step || *step == 0)
    fail("unsupported", at,
         "a section's step that is no constant is not supported in Fortran kernels");
  out.step = *step;
  const Expr least = first_of(v.bounds[axis]);
  const auto most = [&] { return last_of(v, axis, at); };
  out.least = least;
  out.most = v.bounds[axis].upper;
  out.lower = s.start ? s.start : *step > 0 ? least : most();
  out.upper = s.stop ? s.stop : *step > 0 ? most() : least;
  return out;
}

std::optional<std::vector<Axis>> place_axes(const Expr& e, const Routine& routine) {
  std::vector<Axis> out;
  if (const Variable* v = whole_array(e, routine)) {
    for (std::size_t i = 0; i < v->bounds.size(); ++i)
      out.push_back({first_of(v->bounds[i]), last_of(*v, i, e.at()), 1, first_of(v->bounds[i]),
                     v->bounds[i].upper});
    return out;
  }
  const auto* l = e.as<Load>();
  if (!l) return std::nullopt;
  const Variable& v = routine.variables.at(l->array);
  for (std::size_t i = 0; i < l->index.size(); ++i)
    if (const auto* s = l->index[i].as<Slice>()) out.push_back(axis_of(*s, v, i, e.at()));
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

bool is_of_array(const Expr& e) {
  const auto* c = e.as<Call>();
  return c && c->name.starts_with(kOfArray);
}

std::vector<Axis> axes_of(const Expr& e, const Routine& routine) {
  std::vector<Axis> out;
  walk(e, [&](const Expr& x) {
    if (!out.empty() || is_of_array(x)) return false;
    if (const auto axes = place_axes(x, routine)) out = *axes;
    return out.empty();
  });
  return out;
}

Expr element(const Expr& e, const Exprs& numbers, const Routine& routine) {
  if (is_of_array(e)) return e;
  const auto axes = place_axes(e, routine);
  if (!axes) return map_children(e, [&](const Expr& x) { return element(x, numbers, routine); });
  if (axes->size() != numbers.size()) throw InternalError("an array expression of several ranks");
  std::size_t next = 0;
  const auto subscript = [&] {
    const Axis& a = (*axes)[next];
    return index_add({a.lower, index_mul(lit(a.step), numbers[next++])});
  };
  Exprs index;
  const auto* l = e.as<Load>();
  if (!l) {
    while (next < axes->size()) index.push_back(subscript());
    return load(e.as<Var>()->name, index, e.at());
  }
  for (const Expr& i : l->index) index.push_back(i.as<Slice>() ? subscript() : i);
  return load(l->array, index, e.at());
}

}  // namespace moonloop::fortran
