#include "frontends/fortran/remapped.h"

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"

namespace moonloop::fortran {
namespace {

[[noreturn]] void refuse(std::string_view what, const Span& at) {
  fail("unsupported", at, "{} is not supported in Fortran kernels", what);
}

/// The target of a remapped pointer; null for other names.
const Target* remapped(const std::string& name, const Targets& targets) {
  const auto it = targets.find(name);
  return it != targets.end() && it->second.place && !it->second.extents.empty() ? &it->second
                                                                                : nullptr;
}

Expr last_of(const Target& t, std::size_t axis) {
  return index_add({t.lower.at(axis), t.extents.at(axis), lit(-1)});
}

/// `e` with the bounds of such pointers' sections in them.
class Spelled {
 public:
  explicit Spelled(const Targets& targets) : targets_(targets) {}

  Expr operator()(const Expr& e) {
    if (!called(e, kBound).empty() || is_of_arrays(e)) return e;
    if (const auto* c = e.as<Call>(); c && c->name == kAssociated) return e;
    if (const auto* v = e.as<Var>())
      if (const Target* t = remapped(v->name, targets_))
        return section(v->name, *t, Exprs(t->lower.size(), Expr(Slice{Expr(), Expr(), lit(1)})),
                       e.at());
    const Expr inner = map_children(e, [&](const Expr& x) { return x ? (*this)(x) : x; });
    if (const auto* l = inner.as<Load>())
      if (const Target* t = remapped(l->array, targets_))
        return section(l->array, *t, l->index, e.at());
    return inner;
  }

  bool wide = false;  // one of them runs along several axes

 private:
  Expr section(const std::string& name, const Target& t, Exprs index, const Span& at) {
    int axes = 0;
    for (std::size_t n = 0; n < index.size(); ++n) {
      const auto* s = index[n].as<Slice>();
      if (!s) continue;
      ++axes;
      index[n] = Expr(Slice{s->start ? s->start : t.lower.at(n), s->stop ? s->stop : last_of(t, n),
                            s->step ? s->step : lit(1)},
                      at);
    }
    wide = wide || axes > 1;
    return load(name, std::move(index), at);
  }

  const Targets& targets_;
};

/// Arrays that statements before have to make cannot be taken row by row.
void check_rows(const Expr& e, const Span& at) {
  for_each_of<Call>(e, [&](const Call& c, const Expr& whole) {
    const bool made = !called(whole, kMade).empty() || !called(whole, kArrayFunction).empty() ||
                      c.name == kValues || c.name == kTable;
    if (made)
      refuse("an array that is made here beside a pointer with other axes than its target's", at);
  });
}

/// The first subscript and the step of a target of one axis.
std::pair<Expr, Expr> along(const Target& t, const Variable& array) {
  const auto* l = t.place.as<Load>();
  for (std::size_t n = 0; n < array.bounds.size(); ++n) {
    const auto* s = l ? l->index.at(n).as<Slice>() : nullptr;
    if (s || !l)
      return {s && s->start ? s->start : first_of(array.bounds[n]),
              s && s->step ? s->step : lit(1)};
  }
  throw InternalError("a target of a pointer without an axis");
}

}  // namespace

Expr remapped_part(const Target& t, const Variable& array, const Exprs& index, const Span& at) {
  const auto [first, step] = along(t, array);
  Expr from = first, to = first, by, stride = step;
  for (std::size_t n = 0; n < index.size(); ++n) {
    const Expr& lower = t.lower.at(n);
    const auto far = [&](const Expr& i) { return index_mul(stride, index_sub(i, lower)); };
    const auto* s = index[n].as<Slice>();
    if (s && by)
      refuse("a section along several axes of a pointer with other axes than its target's, here,",
             at);
    if (s) by = index_mul(stride, s->step ? s->step : lit(1));
    from = index_add({from, far(!s ? index[n] : s->start ? s->start : lower)});
    to = index_add({to, far(!s ? index[n] : s->stop ? s->stop : last_of(t, n))});
    stride = index_mul(stride, t.extents.at(n));
  }
  const Expr there = by ? Expr(Slice{from, to, by}, at) : from;
  const auto* l = t.place.as<Load>();
  if (!l) return load(written_name(t.place), {there}, at);
  Exprs all = l->index;
  for (Expr& i : all)
    if (i.as<Slice>()) i = there;
  return load(l->array, std::move(all), at);
}

Expr all_in_one_axis(const Target& t, const Variable& array, const Span& at) {
  Expr all = lit(1);
  for (const Expr& n : t.extents) all = index_mul(all, n);
  return remapped_part({t.place, {lit(1)}, {all}}, array, {Expr(Slice{Expr(), Expr(), lit(1)}, at)},
                       at);
}

Expr from_first(const Target& t, const Variable& array, const Span& at) {
  if (as_int(along(t, array).second) != 1)
    refuse("a pointer whose target has gaps and other axes, as an argument,", at);
  return remapped_part(t, array, t.lower, at);
}

std::optional<Forall> assigned_by_rows(const Assignment& a, const Targets& targets, Routine& r,
                                       const Span& at) {
  Spelled spelled(targets);
  const Expr to = spelled(a.to), value = spelled(a.value);
  if (!spelled.wide) return std::nullopt;
  const std::vector<Axis> axes = axes_of(to, r);
  if (axes.size() < 2) return std::nullopt;
  check_rows(value, at), check_rows(to, at);
  Forall f;
  Exprs numbers{Expr()};
  for (std::size_t n = 1; n < axes.size(); ++n) {
    numbers.push_back(new_scalar(r, "row", moonloop::Scalar::I32, at));
    const Expr all = length(axes[n].lower, axes[n].upper, axes[n].step);
    f.ranges.insert(f.ranges.begin(),
                    {written_name(numbers.back()), lit(0), index_sub(all, lit(1)), Expr()});
  }
  f.body = std::make_shared<Body>();
  f.body->push_back({at, Assignment{element(to, numbers, r), element(value, numbers, r)}});
  return f;
}

}  // namespace moonloop::fortran
