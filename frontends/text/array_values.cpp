#include "frontends/text/array_values.h"

#include <algorithm>
#include <set>

#include "core/base/diagnostic.h"
#include "core/expr/external_arguments.h"
#include "core/infer/typing.h"
#include "core/model/affine.h"

namespace moonloop::text {
namespace {

constexpr std::string_view kNewAxis = "None";

bool is_new_axis(const Expr& index) {
  const auto* v = index.as<Var>();
  return v && v->name == kNewAxis;
}

bool is_one(const Expr& length) { return as_int(length) == 1; }

/// What a kernel writes to claim that lengths are equal.
std::string assumption(const Expr& a, const Expr& b) {
  const auto x = to_affine(a, {}), y = to_affine(b, {});
  if (!x || !y) return "no `assume` line can say that they are equal";
  const Set equal = isl_set_params(isl_pw_aff_eq_set(x->copy(), y->copy()));
  if (yes(isl_set_is_empty(equal.get()))) return {};
  const std::string text = str(Set(isl_set_coalesce(equal.copy())));
  const std::size_t begin = text.find(": ") + 2;
  return fmt::format("`assume {}` says that they are equal",
                     text.substr(begin, text.rfind(" }") - begin));
}

/// A subscript: numbers below 0 count from the end of an axis, whose length is null if unknown.
Expr from_end(const Expr& index, const Expr& length, const std::string& array, std::size_t axis) {
  const std::optional<std::int64_t> n = as_int(index);
  if (!n || *n >= 0) return index;
  if (!length)
    throw Error(Diagnostic{
        "unknown-shape",
        fmt::format("`{}` counts from the end of axis {} of `{}`, whose length is not declared", *n,
                    axis, array),
        {index.at(), {}},
        {},
        fmt::format("declare the shape of `{}`", array)});
  return index_add({length, lit(*n)});
}

/// The axes that `axis=` names, of `rank`.
std::set<std::size_t> axes_of(const Expr& axis, std::size_t rank) {
  std::set<std::size_t> out;
  for (const Expr& a : axis.as<Call>()->args) {
    const std::optional<std::int64_t> n = as_int(a);
    if (!n) fail("bad-axis", a.at(), "`axis=` takes numbers, found `{}`", to_string(a));
    const std::int64_t at = *n < 0 ? *n + static_cast<std::int64_t>(rank) : *n;
    if (at < 0 || at >= static_cast<std::int64_t>(rank))
      fail("bad-axis", a.at(), "no axis {} in a value of {} ax{}s", *n, rank,
           rank == 1 ? "i" : "e");
    if (!out.insert(static_cast<std::size_t>(at)).second)
      fail("bad-axis", a.at(), "axis {} is named twice", *n);
  }
  return out;
}

/// Whether the rule, or one that it calls, subscripts this parameter, which is an array then.
bool takes_array(const Rule& r, std::size_t parameter, const ArrayContext& context) {
  bool out = false;
  walk(r.body, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    out |= l && l->array == r.params[parameter];
    const auto* c = x.as<Call>();
    const Rule* next = c ? context.rule(c->name) : nullptr;
    for (std::size_t i = 0; next && i < c->args.size() && i < next->params.size(); ++i)
      if (const auto* v = c->args[i].as<Var>(); v && v->name == r.params[parameter])
        out |= takes_array(*next, i, context);
    return !out;
  });
  return out;
}

}  // namespace

bool is_array_function(const std::string& name) {
  return name == "@" || name == "[]" || name == "where" || name == "einsum" ||
         parse_reduce_op(name).has_value();
}

Expr simplified(const Expr& e) {
  if (e.as<Var>() || e.as<IntLit>()) return e;
  const std::optional<PwAff> a = to_affine(e, {});
  if (!a || count(isl_pw_aff_n_piece(a->get())) != 1) return e;
  return from_affine(*a);
}

bool has_array_parts(const Expr& e, const ArrayContext& context, bool rows) {
  bool out = false;
  const std::function<void(const Expr&)> look = [&](const Expr& x) {
    if (out) return;
    if (const auto* l = x.as<Load>()) {
      std::size_t subscripts = 0;
      for (const Expr& i : l->index) {
        out |= i.as<Slice>() || is_new_axis(i);
        subscripts += !is_new_axis(i);
      }
      const Exprs* shape = l->linear ? nullptr : context.shape_of(l->array);
      out |= rows && shape && subscripts < shape->size();
    }
    const auto* v = x.as<Var>();
    if (v && context.is_array(v->name)) {
      const Exprs* shape = context.shape_of(v->name);
      out |= !shape || !shape->empty();
    }
    if (const auto* c = x.as<Call>()) {
      const Rule* r = context.rule(c->name);
      if (!r && !find_function(c->name)) {
        // Any other function is external, and takes parts of arrays as they are.
        out |= is_array_function(c->name) && !context.is_external(c->name);
        return;
      }
      for (std::size_t i = 0; i < c->args.size(); ++i)
        if (!r || i >= r->params.size() || !takes_array(*r, i, context)) look(c->args[i]);
      return;
    }
    if (!x.as<SubArray>()) for_each_child(x, look);
  };
  look(e);
  return out;
}

Expr ArrayValues::spread(const ArrayValue& v, const Exprs& position) {
  Exprs own;
  const std::size_t skipped = position.size() - v.shape.size();
  for (std::size_t a = 0; a < v.shape.size(); ++a)
    own.push_back(is_one(v.shape[a]) ? lit(0) : position[skipped + a]);
  return v.at(own);
}

Exprs ArrayValues::common_shape(const std::vector<const ArrayValue*>& values,
                                const Span& at) const {
  Exprs out;  // from the last axis
  for (const ArrayValue* v : values)
    for (std::size_t n = 0; n < v->shape.size(); ++n) {
      const Expr& length = v->shape[v->shape.size() - 1 - n];
      if (n == out.size()) {
        out.push_back(length);
      } else if (is_one(out[n])) {
        out[n] = length;
      } else if (!is_one(length) && !context_.same_length(out[n], length)) {
        const std::string hint = assumption(out[n], length);
        throw Error(Diagnostic{
            "shape-mismatch",
            fmt::format("the lengths `{}` and `{}` of axis -{} {}differ", to_string(out[n]),
                        to_string(length), n + 1, hint.empty() ? "" : "may "),
            {at, {}},
            {},
            hint});
      }
    }
  std::reverse(out.begin(), out.end());
  return out;
}

ArrayValue ArrayValues::elementwise(const Exprs& parts, std::function<Expr(Exprs)> make,
                                    const Span& at) {
  std::vector<ArrayValue> values;
  for (const Expr& p : parts) values.push_back(of(p));
  std::vector<const ArrayValue*> all;
  for (const ArrayValue& v : values) all.push_back(&v);
  Exprs shape = common_shape(all, at);
  return {std::move(shape), [values, make](const Exprs& position) {
            Exprs out;
            for (const ArrayValue& v : values) out.push_back(spread(v, position));
            return make(std::move(out));
          }};
}

ArrayValues::Section ArrayValues::section(const Slice& s, const Expr& length,
                                          const std::string& array, std::size_t axis,
                                          const Span& at) const {
  Section out;
  if (s.step) {
    const std::optional<std::int64_t> step = as_int(s.step);
    if (!step || *step == 0)
      fail("bad-slice", s.step.at(), "the step of a slice is a number other than 0, not `{}`",
           to_string(s.step));
    out.step = *step;
  }
  const auto known = [&] {
    if (!length)
      throw Error(Diagnostic{
          "unknown-shape",
          context_.is_array(array)
              ? fmt::format(
                    "the length of axis {} of `{}`, which this slice needs, is not declared", axis,
                    array)
              : fmt::format("`{}`, of which this is a slice, is not declared", array),
          {at, {}},
          {},
          fmt::format("declare the shape of `{}`, or say where the slice begins and ends", array)});
    return length;
  };
  const auto place = [&](const Expr& e) {
    return as_int(e).value_or(0) < 0 ? index_add({known(), e}) : e;
  };
  const bool up = out.step > 0;
  out.start = s.start ? place(s.start) : up ? lit(0) : index_sub(known(), lit(1));
  const Expr stop = s.stop ? place(s.stop) : up ? known() : lit(-1);
  const Expr distance = up ? index_sub(stop, out.start) : index_sub(out.start, stop);
  const std::int64_t width = up ? out.step : -out.step;
  out.length = simplified(
      width == 1
          ? distance
          : Expr(Binary{BinaryOp::FloorDiv, index_add({distance, lit(width - 1)}), lit(width)},
                 at));
  out.start = simplified(out.start);
  return out;
}

/// `a[1:n, j, None, p[:]]`.
ArrayValue ArrayValues::part_of(const Load& l, const Span& at) {
  const auto element = [like = l, at](Exprs index) {
    Load x = like;
    x.index = std::move(index);
    return Expr(std::move(x), at);
  };
  return selected(l.index, l.linear ? nullptr : context_.shape_of(l.array), l.array, element);
}

ArrayValue ArrayValues::selected(const Exprs& indices, const Exprs* declared,
                                 const std::string& name, std::function<Expr(Exprs)> make) {
  struct Axis {
    Expr scalar;            // a subscript without axes, or
    Section slice;          // a slice, or
    ArrayValue gathered;    // an array of subscripts
    bool fresh = false;     // or a new axis
    std::size_t first = 0;  // of the value's axes
  };
  std::vector<Axis> axes;
  ArrayValue out;
  std::size_t number = 0;
  const Expr* list = nullptr;
  for (const Expr& index : indices) {
    Axis a;
    a.first = out.shape.size();
    if (is_new_axis(index)) {
      a.fresh = true;
      out.shape.push_back(lit(1));
      axes.push_back(std::move(a));
      continue;
    }
    const Expr length = declared && number < declared->size() ? (*declared)[number] : Expr();
    if (const Slice* s = index.as<Slice>()) {
      a.slice = section(*s, length, name, number, index.at());
      out.shape.push_back(a.slice.length);
    } else {
      a.gathered = of(index);
      if (a.gathered.shape.empty()) {
        a.scalar = from_end(a.gathered.at({}), length, name, number);
      } else if (list) {
        fail("unsupported", index.at(), "two subscripts of `{}` are arrays, this and `{}`", name,
             to_string(*list));
      } else {
        list = &index;
        out.shape.insert(out.shape.end(), a.gathered.shape.begin(), a.gathered.shape.end());
      }
    }
    ++number;
    axes.push_back(std::move(a));
  }
  // Axes that are not written are whole.
  if (declared)
    for (; number < declared->size(); ++number) {
      Axis a;
      a.first = out.shape.size();
      a.slice = {lit(0), (*declared)[number], 1};
      out.shape.push_back((*declared)[number]);
      axes.push_back(std::move(a));
    }
  out.at = [axes, make = std::move(make)](const Exprs& position) {
    Exprs own;
    for (const Axis& a : axes) {
      if (a.fresh) continue;
      if (a.scalar) {
        own.push_back(a.scalar);
      } else if (a.slice.start) {
        own.push_back(simplified(
            index_add({a.slice.start, index_mul(lit(a.slice.step), position[a.first])})));
      } else {
        const auto begin = position.begin() + static_cast<std::ptrdiff_t>(a.first);
        own.push_back(
            a.gathered.at({begin, begin + static_cast<std::ptrdiff_t>(a.gathered.shape.size())}));
      }
    }
    return make(std::move(own));
  };
  return out;
}

ArrayValue ArrayValues::subscripted(const Call& c, const Span& at) {
  const ArrayValue base = of(c.args[0]);
  const Exprs index(c.args.begin() + 1, c.args.end());
  const auto used = static_cast<std::size_t>(
      std::count_if(index.begin(), index.end(), [](const Expr& i) { return !is_new_axis(i); }));
  if (used > base.shape.size())
    fail("bad-axis", at, "`{}` has {} ax{}s, and {} subscript{}", to_string(c.args[0]),
         base.shape.size(), base.shape.size() == 1 ? "i" : "e", used, used == 1 ? "" : "s");
  return selected(index, &base.shape, to_string(c.args[0]),
                  [base](const Exprs& position) { return spread(base, position); });
}

Expr ArrayValues::counted(const Expr& e, bool strict) const {
  return rewrite(e, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    if (!l || l->linear) return x;
    const auto below = [](const Expr& i) { return as_int(i).value_or(0) < 0; };
    if (std::none_of(l->index.begin(), l->index.end(), below)) return x;
    const Exprs* shape = context_.shape_of(l->array);
    if (!shape && !strict) return x;
    Load out = *l;
    for (std::size_t n = 0; n < out.index.size(); ++n)
      out.index[n] =
          from_end(out.index[n], shape && n < shape->size() ? (*shape)[n] : Expr(), l->array, n);
    return Expr(std::move(out), x.at());
  });
}

ArrayValue ArrayValues::of(const Expr& e) {
  const auto plain = [&] {
    return ArrayValue{{}, [own = counted(e, true)](const Exprs&) { return own; }};
  };
  // The node again with other parts in the place of its children.
  const auto each_child = [&] {
    Exprs parts;
    for_each_child(e, [&](const Expr& c) { parts.push_back(c); });
    return elementwise(
        parts,
        [e](const Exprs& now) {
          std::size_t next = 0;
          return map_children(e, [&](const Expr&) { return now[next++]; });
        },
        e.at());
  };
  if (!has_array_parts(e, context_)) return plain();
  if (const auto* v = e.as<Var>()) {
    const Exprs* shape = context_.shape_of(v->name);
    if (!shape)
      throw Error(Diagnostic{
          "unknown-shape",
          fmt::format("the shape of `{}`, which is used as a whole here, is not declared", v->name),
          {e.at(), {}},
          {},
          fmt::format("declare it, or write `{}[0:n]`", v->name)});
    return {*shape, [v = *v, at = e.at()](const Exprs& position) {
              return Expr(Load{v.name, position, v.tag, false}, at);
            }};
  }
  if (const auto* l = e.as<Load>()) return part_of(*l, e.at());
  if (const auto* f = e.as<Field>()) {
    ArrayValue base = of(f->base);
    if (f->name != "T" || base.shape.empty()) return each_child();
    ArrayValue out;
    out.shape.assign(base.shape.rbegin(), base.shape.rend());
    out.at = [base](const Exprs& position) {
      return base.at({position.rbegin(), position.rend()});
    };
    return out;
  }
  if (const auto* c = e.as<Call>()) return called(*c, e);
  if (const auto* r = e.as<Reduce>()) {
    Exprs parts = r->args;
    ArrayValue out = elementwise(
        parts,
        [r = *r, at = e.at()](Exprs now) {
          Reduce out = r;
          out.args = std::move(now);
          return Expr(std::move(out), at);
        },
        e.at());
    out.at = [this, inames = r->inames, inside = out.at](const Exprs& position) {
      bound_.insert(bound_.end(), inames.begin(), inames.end());
      Expr value = inside(position);
      bound_.resize(bound_.size() - inames.size());
      return value;
    };
    return out;
  }
  return each_child();
}

ArrayValue ArrayValues::called(const Call& c, const Expr& e) {
  if (const Rule* r = context_.rule(c.name)) {
    Exprs parts;
    std::vector<bool> whole(c.args.size());
    for (std::size_t i = 0; i < c.args.size(); ++i) {
      whole[i] = i < r->params.size() && takes_array(*r, i, context_);
      if (!whole[i]) parts.push_back(c.args[i]);
    }
    return elementwise(
        parts,
        [c, whole, at = e.at()](const Exprs& now) {
          Call out = c;
          std::size_t next = 0;
          for (std::size_t i = 0; i < out.args.size(); ++i)
            if (!whole[i]) out.args[i] = now[next++];
          return Expr(std::move(out), at);
        },
        e.at());
  }
  const bool of_values = (c.name == "min" || c.name == "max") && c.args.size() >= 2 &&
                         !(c.args[1].as<Call>() && c.args[1].as<Call>()->name.back() == '=');
  if (const auto op = parse_reduce_op(c.name); op && !of_values) return reduced(*op, c, e.at());
  if (c.name == "@") return product(c, e.at());
  if (c.name == "[]") return subscripted(c, e.at());
  if (c.name == "einsum") return einsum(c, e.at());
  if (c.name == "where") {
    if (c.args.size() != 3)
      fail("wrong-arg-count", e.at(), "`where(condition, yes, no)` takes 3 arguments, got {}",
           c.args.size());
    return elementwise(
        c.args,
        [at = e.at()](Exprs now) {
          return Expr(Select{now[0], now[1], now[2]}, at);
        },
        e.at());
  }
  return elementwise(
      c.args,
      [c, at = e.at()](Exprs now) {
        Call out = c;
        out.args = std::move(now);
        return Expr(std::move(out), at);
      },
      e.at());
}

// ---- Reductions and products.

ArrayValue ArrayValues::computed_once(ArrayValue v, const Span& at, bool always) {
  auto kept = std::make_shared<std::string>();
  ArrayValue out;
  out.shape = v.shape;
  out.at = [this, v = std::move(v), kept, at, always](const Exprs& position) {
    std::set<std::string> used;
    for (const Expr& p : position) collect_vars(p, used);
    const bool each_once = std::all_of(scope_.begin(), scope_.end(),
                                       [&](const std::string& i) { return used.contains(i); });
    if (kept->empty() && each_once && !always) return v.at(position);
    if (!bound_.empty()) {  // before the statement, these inames have no value
      Expr here = v.at(position);
      std::set<std::string> names;
      collect_vars(here, names);
      if (std::any_of(bound_.begin(), bound_.end(),
                      [&](const std::string& i) { return names.contains(i); })) {
        if (always)
          fail("unsupported", at,
               "a place along an axis, in a reduction over the iname `{}`, on which it depends",
               bound_.back());
        return here;
      }
    }
    // Axes of length 1 are not kept.
    ArrayValue stored;
    Exprs own;
    for (std::size_t a = 0; a < v.shape.size(); ++a)
      if (!is_one(v.shape[a])) stored.shape.push_back(v.shape[a]), own.push_back(position[a]);
    stored.at = [&v](const Exprs& p) {
      Exprs all;
      std::size_t next = 0;
      for (const Expr& length : v.shape) all.push_back(is_one(length) ? lit(0) : p[next++]);
      return v.at(all);
    };
    if (kept->empty()) *kept = context_.keep(stored, at);
    return own.empty() ? var(*kept, at) : load(*kept, own, at);
  };
  return out;
}

ArrayValue ArrayValues::reduced(ReduceOp op, const Call& c, const Span& at) {
  const bool finds_place = op == ReduceOp::ArgMin || op == ReduceOp::ArgMax;
  if (arity(op) != 1 && !finds_place)
    fail("unsupported", at, "`{}` of an array; write `{}(i, a[i], i)` over an iname", c.name,
         c.name);
  if (c.args.empty()) fail("wrong-arg-count", at, "`{}` takes an array", c.name);
  const ArrayValue v = of(c.args[0]);
  std::set<std::size_t> axes;
  bool named = false, keep = false;
  for (std::size_t i = 1; i < c.args.size(); ++i) {
    const auto* option = c.args[i].as<Call>();
    if (!option || option->name.back() != '=')
      fail("wrong-arg-count", c.args[i].at(),
           "`{}` takes one array; the axes are `axis=0` or `axis=(0, 1)`", c.name);
    if (option->name == "axis=") {
      axes = axes_of(c.args[i], v.shape.size());
      named = true;
    } else if (const auto* yes = option->args.front().as<BoolLit>()) {
      keep = yes->value;
    } else {
      fail("bad-axis", c.args[i].at(), "`keepdims=` is True or False");
    }
  }
  if (v.shape.empty())
    fail("bad-axis", c.args[0].at(), "`{}` is no array, of which `{}` could be taken",
         to_string(c.args[0]), c.name);
  if (!named)
    for (std::size_t a = 0; a < v.shape.size(); ++a) axes.insert(a);
  if (finds_place && named && axes.size() != 1)
    fail("bad-axis", at, "`{}` is taken over one axis, or over all without `axis=`", c.name);
  if (axes.empty()) return v;
  ArrayValue out;
  for (std::size_t a = 0; a < v.shape.size(); ++a) {
    if (!axes.contains(a))
      out.shape.push_back(v.shape[a]);
    else if (keep)
      out.shape.push_back(lit(1));
  }
  out.at = [this, v, axes, keep, op, at, finds_place](const Exprs& position) {
    Exprs all;
    Expr place = lit(0);  // of the element, in C order
    std::vector<std::string> inames;
    std::size_t next = 0;
    for (std::size_t a = 0; a < v.shape.size(); ++a) {
      if (!axes.contains(a)) {
        all.push_back(position[next++]);
        continue;
      }
      if (keep) ++next;
      inames.push_back(context_.add_loop("r", lit(0), v.shape[a], at));
      all.push_back(var(inames.back()));
      place = index_add({index_mul(v.shape[a], place), all.back()});
    }
    scope_.insert(scope_.end(), inames.begin(), inames.end());
    Exprs values{v.at(all)};
    scope_.resize(scope_.size() - inames.size());
    if (finds_place) values.push_back(std::move(place));
    return Expr(Reduce{op, std::move(inames), std::move(values), false}, at);
  };
  // A reduction with two results is a statement of its own.
  return computed_once(std::move(out), at, finds_place);
}

ArrayValue ArrayValues::contraction(std::vector<ArrayValue> values, std::vector<std::string> labels,
                                    std::string result, const Span& at) {
  std::map<char, Expr> lengths;
  std::string summed;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (labels[n].size() != values[n].shape.size())
      fail("bad-einsum", at, "`{}` names {} ax{}s of a value that has {}", labels[n],
           labels[n].size(), labels[n].size() == 1 ? "i" : "e", values[n].shape.size());
    for (std::size_t a = 0; a < labels[n].size(); ++a) {
      const char l = labels[n][a];
      const ArrayValue own{{values[n].shape[a]}, {}};
      const auto [it, first] = lengths.emplace(l, values[n].shape[a]);
      if (!first) {
        const ArrayValue before{{it->second}, {}};
        it->second = common_shape({&before, &own}, at).front();
      } else if (result.find(l) == std::string::npos) {
        summed += l;
      }
    }
  }
  ArrayValue out;
  for (const char l : result) out.shape.push_back(lengths.at(l));
  out.at = [this, values = std::move(values), labels = std::move(labels), result, summed, lengths,
            at](const Exprs& position) {
    std::map<char, Expr> by;
    for (std::size_t a = 0; a < result.size(); ++a) by.emplace(result[a], position[a]);
    std::vector<std::string> inames;
    for (const char l : summed) {
      inames.push_back(context_.add_loop("r", lit(0), lengths.at(l), at));
      by.emplace(l, var(inames.back()));
    }
    scope_.insert(scope_.end(), inames.begin(), inames.end());
    Exprs factors;
    for (std::size_t n = 0; n < values.size(); ++n) {
      Exprs own;
      for (const char l : labels[n]) own.push_back(by.at(l));
      factors.push_back(spread(values[n], own));
    }
    scope_.resize(scope_.size() - inames.size());
    Expr body = factors.size() == 1 ? factors.front() : Expr(Nary{NaryOp::Mul, factors}, at);
    if (inames.empty()) return body;
    return Expr(Reduce{ReduceOp::Sum, std::move(inames), {std::move(body)}, false}, at);
  };
  if (summed.empty()) return out;
  return computed_once(std::move(out), at);
}

/// `a @ b`: the last axis of `a` with the one before the last of `b`; axes before these are spread.
ArrayValue ArrayValues::product(const Call& c, const Span& at) {
  ArrayValue a = of(c.args[0]), b = of(c.args[1]);
  for (std::size_t n = 0; n < 2; ++n)
    if ((n == 0 ? a : b).shape.empty())
      fail("bad-axis", c.args[n].at(), "`{}` is no array, as `@` needs", to_string(c.args[n]));
  const std::size_t others = std::max({a.shape.size(), b.shape.size(), std::size_t{2}}) - 2;
  if (others > 20) fail("unsupported", at, "`@` of arrays with {} axes", others + 2);
  std::string batch;  // of the axes before the last two
  for (std::size_t n = 0; n < others; ++n) batch += static_cast<char>('a' + n);
  const auto of_last = [&](std::size_t axes) { return batch.substr(batch.size() - axes); };
  const bool row = a.shape.size() > 1, column = b.shape.size() > 1;
  const std::string left = row ? of_last(a.shape.size() - 2) + "yz" : "z";
  const std::string right = column ? of_last(b.shape.size() - 2) + "zx" : "z";
  return contraction({std::move(a), std::move(b)}, {left, right},
                     batch + (row ? "y" : "") + (column ? "x" : ""), at);
}

ArrayValue ArrayValues::einsum(const Call& c, const Span& at) {
  const std::optional<std::string> text = c.args.empty() ? std::nullopt : as_text(c.args[0]);
  if (!text) fail("bad-einsum", at, "`einsum` takes a text such as \"ij,jk->ik\", and the arrays");
  const EinsumLabels labels = einsum_labels(*text, c.args.size() - 1, c.args[0].at());
  std::vector<ArrayValue> values;
  std::map<char, double> lengths;
  for (std::size_t n = 1; n < c.args.size(); ++n) {
    values.push_back(of(c.args[n]));
    const std::string& own = labels.operands[n - 1];
    for (std::size_t a = 0; a < own.size() && a < values.back().shape.size(); ++a) {
      const std::optional<std::int64_t> known = as_int(values.back().shape[a]);
      constexpr double kAny = 1000;  // a parameter
      double& l = lengths[own[a]];
      l = std::max(l, known ? static_cast<double>(*known) : kAny);
    }
  }
  if (values.size() < 3) return contraction(values, labels.operands, labels.result, at);
  std::vector<std::string> names = labels.operands;
  for (const auto& [a, b] : einsum_order(labels, [&](char l) { return lengths[l]; })) {
    std::string both = names.size() == 2 ? labels.result : einsum_pair(names, a, b, labels.result);
    ArrayValue pair = contraction({values[a], values[b]}, {names[a], names[b]}, both, at);
    values[a] = std::move(pair);
    names[a] = std::move(both);
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(b));
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return values.front();
}

}  // namespace moonloop::text
