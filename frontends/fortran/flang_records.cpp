#include "frontends/fortran/flang_records.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_ieee.h"
#include "frontends/fortran/flang_walk.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Records as a whole: each component is a variable.
namespace moonloop::fortran {

std::vector<const sem::Symbol*> components_of(const sem::DerivedTypeSpec& type, const Span& at) {
  const auto& details = type.typeSymbol().get<sem::DerivedTypeDetails>();
  if (!type.parameters().empty())
    unsupported(at, fmt::format("the parameters of `{}`", type.name().ToString()));
  if (type.typeSymbol().GetParentTypeSpec())
    unsupported(at, fmt::format("`{}`, which extends a type,", type.name().ToString()));
  std::vector<const sem::Symbol*> out;
  // A type that is declared behind a pointer to it has no scope of its own there.
  const sem::Scope& scope = DEREF(type.scope() ? type.scope() : type.typeSymbol().scope());
  for (const sem::SourceName& name : details.componentNames()) {
    const auto it = scope.find(name);
    if (it == scope.end()) throw InternalError("a component has no symbol");
    if (!it->second->has<sem::ObjectEntityDetails>())
      unsupported(at, fmt::format("the component `{}`", name.ToString()));
    out.push_back(&*it->second);
  }
  return out;
}

namespace {

/// The derived type of a component; null for others.
const sem::DerivedTypeSpec* record_of(const sem::Symbol& component) {
  const sem::DeclTypeSpec* type = component.GetType();
  return type ? type->AsDerived() : nullptr;
}

/// Whether records of `type` have components of the type `wanted`, and these theirs.
bool reaches(const sem::DerivedTypeSpec& type, const sem::Symbol& wanted,
             std::set<const sem::Symbol*>& seen) {
  const sem::Symbol& own = type.typeSymbol().GetUltimate();
  if (&own == &wanted) return true;
  if (!seen.insert(&own).second || !own.scope()) return false;
  return std::any_of(own.scope()->begin(), own.scope()->end(), [&](const auto& c) {
    const auto* inner = record_of(*c.second);
    return inner && c.second->template has<sem::ObjectEntityDetails>() &&
           reaches(*inner, wanted, seen);
  });
}

}  // namespace

bool leads_back(const sem::Symbol& component) {
  const auto* type = record_of(component);
  const sem::Symbol* own = component.owner().symbol();
  std::set<const sem::Symbol*> seen;
  return type && own && component.owner().IsDerivedType() &&
         reaches(*type, own->GetUltimate(), seen);
}

const sem::DerivedTypeSpec& type_of_record(const ev::DynamicType& type, const Span& at) {
  if (type.IsUnlimitedPolymorphic()) unsupported(at, "a value of any type, `class(*)`,");
  return type.GetDerivedTypeSpec();
}

bool is_chained(const sem::DerivedTypeSpec& type) {
  const sem::Scope* scope = type.typeSymbol().GetUltimate().scope();
  return scope && std::any_of(scope->begin(), scope->end(), [](const auto& c) {
           if (!c.second->template has<sem::ObjectEntityDetails>()) return false;
           const auto* inner = record_of(*c.second);
           return leads_back(*c.second) || (inner && is_chained(*inner));
         });
}

void refuse_chain(std::string_view component, const Span& at) {
  unsupported(at, fmt::format("`{}`, a component whose type leads back to it,", component));
}

std::string name_of_component(const sem::Symbol& component, const Span& at) {
  if (leads_back(component)) refuse_chain(component.name().ToString(), at);
  return component.name().ToString();
}

namespace {

/// Appends the name of a component of records of `type`, if possible without axes, and adds the
/// axes that it has itself.
bool append_component(const sem::DerivedTypeSpec& type, const Span& at, std::string& name,
                      int& axes) {
  std::vector<const sem::Symbol*> all = components_of(type, at);
  std::erase_if(all, [](const sem::Symbol* c) {
    return leads_back(*c) || sem::IsAllocatable(*c) || sem::IsPointer(*c);
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto* a, const auto* b) { return a->Rank() < b->Rank(); });
  for (const sem::Symbol* c : all) {
    std::string own = name + "_" + c->name().ToString();
    int more = axes + c->Rank() + (is_text(*c) ? 1 : 0);
    const auto* inner = record_of(*c);
    if (inner && !append_component(*inner, at, own, more)) continue;
    name = own;
    axes = more;
    return true;
  }
  return false;
}

}  // namespace

Expr bound_of(const char* end, std::string name, const sem::Symbol& symbol, int axis,
              const Span& at) {
  const auto type = ev::DynamicType::From(symbol);
  const bool record =
      type && type->category() == TypeCategory::Derived && !type->IsUnlimitedPolymorphic();
  if (record && !append_component(type_of_record(*type, at), at, name, axis))
    unsupported(at, fmt::format("a bound of `{}`, whose components all have memory of their own,",
                                symbol.name().ToString()));
  return call(std::string(kBound) + end, {var(name, at), lit(axis + 1)}, at);
}

Expr bound_of_records(const std::string& end, const ev::ActualArguments& arguments,
                      const Span& at) {
  const auto value = [&](std::size_t n) {
    return n < arguments.size() && arguments[n] ? arguments[n]->UnwrapExpr() : nullptr;
  };
  const SomeExpr *array = value(0), *dim = value(1);
  if (!array || !as_derived(*array)) return Expr();
  const auto axis = dim ? ev::ToInt64(*dim) : std::nullopt;
  if (!axis || *axis < 1 || *axis > array->Rank())
    unsupported(at, fmt::format("`{}` of records without a `dim` that is a constant", end));
  const auto symbols = ev::GetSymbolVector(*array);
  if (symbols.empty() || !ev::UnwrapWholeSymbolOrComponentDataRef(*array))
    unsupported(at, fmt::format("`{}` of these records", end));
  std::string name = variable_name(symbols.front());
  for (std::size_t n = 1; n < symbols.size(); ++n) name += "_" + symbols[n]->name().ToString();
  return bound_of(end.c_str(), std::move(name), symbols.back(), static_cast<int>(*axis) - 1, at);
}

const ev::Expr<ev::SomeDerived>* as_derived(const SomeExpr& e) {
  return std::get_if<ev::Expr<ev::SomeDerived>>(&e.u);
}

namespace {

/// The components, and theirs, of the place `whole`.
Exprs components(const Expr& whole, const sem::DerivedTypeSpec& type, const Span& at) {
  Exprs out;
  for (const sem::Symbol* c : components_of(type, at)) {
    if (leads_back(*c)) continue;  // nobody can ask for it
    const auto* l = whole.as<Load>();
    const std::string name = (l ? l->array : whole.as<Var>()->name) + "_" + c->name().ToString();
    Expr part = var(name, at);
    if (l) {
      const auto rank = static_cast<std::size_t>(c->Rank()) + (is_text(*c) ? 1 : 0);
      Exprs index(rank, Expr(Slice{Expr(), Expr(), lit(1)}, at));
      index.insert(index.end(), l->index.begin(), l->index.end());
      part = load(name, index, at);
    }
    const auto t = ev::DynamicType::From(*c);
    if (t && t->category() == TypeCategory::Derived) {
      const Exprs inner = components(part, type_of_record(*t, at), at);
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      out.push_back(part);
    }
  }
  return out;
}

}  // namespace

void axes_of_components(const sem::DerivedTypeSpec& type, std::size_t around, const Span& at,
                        std::vector<std::size_t>& out) {
  for (const sem::Symbol* c : components_of(type, at)) {
    if (leads_back(*c)) continue;  // as in components()
    const auto axes = around + static_cast<std::size_t>(c->Rank()) + (is_text(*c) ? 1 : 0);
    const auto t = ev::DynamicType::From(*c);
    if (t && t->category() == TypeCategory::Derived)
      axes_of_components(type_of_record(*t, at), axes, at, out);
    else
      out.push_back(axes);
  }
}

namespace {

/// How many elements `place` has along an axis of its variable.
Expr elements_along(const Expr& place, std::size_t axis) {
  const auto* l = place.as<Load>();
  const Expr whole = var(l ? l->array : place.as<Var>()->name, place.at());
  const auto bound = [&](const char* end) {
    return call(std::string(kBound) + end, {whole, lit(static_cast<std::int64_t>(axis) + 1)},
                place.at());
  };
  const Slice* s = l ? l->index[axis].as<Slice>() : nullptr;
  return length(s && s->start ? s->start : bound("lbound"),
                s && s->stop ? s->stop : bound("ubound"), s && s->step ? s->step : lit(1));
}

/// A component of one record, with these axes, as a component of each record of an array, which
/// has `more` axes and is at `place`.
Expr for_each_record(Expr value, std::size_t axes, std::size_t more, const Expr& place) {
  std::vector<std::size_t> along;  // the axes of the variable along which the array runs
  if (const auto* l = place.as<Load>()) {
    for (std::size_t i = axes; i < l->index.size(); ++i)
      if (l->index[i].as<Slice>()) along.push_back(i);
  } else {
    for (std::size_t i = 0; i < more; ++i) along.push_back(axes + i);
  }
  if (along.size() != more)
    fail("unsupported", place.at(),
         "one record for records by an array of subscripts is not supported in Fortran kernels");
  for (const std::size_t axis : along)
    value = call(kArrays + std::string("spread"),
                 {value, lit(static_cast<std::int64_t>(++axes)), elements_along(place, axis)},
                 place.at());
  return value;
}

/// The values of the components, where they are given one by one.
std::optional<ev::StructureConstructor> constructor(const ev::Expr<ev::SomeDerived>& e) {
  if (const auto* s = std::get_if<ev::StructureConstructor>(&e.u)) return *s;
  const auto* c = std::get_if<ev::Constant<ev::SomeDerived>>(&e.u);
  return c && c->Rank() == 0 ? c->GetScalarValue() : std::nullopt;
}

/// How many elements a component has along each axis, which its type says.
Exprs extents_of(const sem::Symbol& component, const Span& at) {
  Exprs out;
  for (const sem::ShapeSpec& axis : component.get<sem::ObjectEntityDetails>().shape()) {
    const auto &lower = axis.lbound().GetExplicit(), &upper = axis.ubound().GetExplicit();
    const auto first = lower ? ev::ToInt64(*lower) : std::nullopt;
    const auto last = upper ? ev::ToInt64(*upper) : std::nullopt;
    if (!first || !last)
      unsupported(at, fmt::format("the component `{}`, whose shape the type does not say, in an "
                                  "array of records,",
                                  component.name().ToString()));
    out.push_back(lit(std::max<std::int64_t>(*last - *first + 1, 0)));
  }
  return out;
}

/// How many elements each component, and theirs, has along each of its axes; `around`: those of
/// arrays that it is in.
void extents_of_components(const sem::DerivedTypeSpec& type, const Exprs& around, const Span& at,
                           std::vector<Exprs>& out) {
  for (const sem::Symbol* c : components_of(type, at)) {
    if (is_text(*c)) unsupported(at, "texts in an array of records that is made here");
    Exprs all = extents_of(*c, at);
    all.insert(all.end(), around.begin(), around.end());
    const auto t = ev::DynamicType::From(*c);
    if (t && t->category() == TypeCategory::Derived)
      extents_of_components(type_of_record(*t, at), all, at, out);
    else
      out.push_back(std::move(all));
  }
}

/// An array with these extents, of the elements of another one.
Expr in_shape(const Expr& e, const Exprs& extents, const Span& at) {
  Exprs args{e, lit(static_cast<std::int64_t>(extents.size()))};
  args.insert(args.end(), extents.begin(), extents.end());
  args.push_back(call(kAbsent, {}, at));
  for (std::size_t n = 1; n <= extents.size(); ++n)
    args.push_back(lit(static_cast<std::int64_t>(n)));
  return call(kMade + std::string("reshape"), std::move(args), at);
}

Expr product_of(const Exprs& extents) {
  Expr out = lit(1);
  for (const Expr& n : extents) out = index_mul(out, n);
  return out;
}

/// The components of a record, or of each in an array; `full`: each has all its axes, also where
/// one value is given for all elements.
Exprs values_of(const ev::Expr<ev::SomeDerived>& e, bool full, const Span& at);

/// An array of records that is given one by one: of each component the values, as arrays of one
/// axis, and how many records there are.
class Records {
 public:
  Records(const sem::DerivedTypeSpec& type, const Span& at) : at_(at) {
    extents_of_components(type, {}, at, extents_);
    pieces_.resize(extents_.size());
  }

  void add(const ev::Expr<ev::SomeDerived>& e) {
    Expr more = lit(1);
    const Exprs own = values_of(e, true, at_);
    if (e.Rank() > 1) unsupported(at_, "an array of several axes in an array constructor");
    if (e.Rank() == 1) {
      const bool place = std::holds_alternative<ev::Designator<ev::SomeDerived>>(e.u);
      if (!place || own.empty()) unsupported(at_, "these records in an array constructor");
      more = elements(own[0], extents_[0].size());
    }
    for (std::size_t n = 0; n < own.size(); ++n) {
      const std::size_t axes = extents_[n].size() + static_cast<std::size_t>(e.Rank());
      pieces_[n].push_back(
          axes < 2 ? own[n] : in_shape(own[n], {index_mul(product_of(extents_[n]), more)}, at_));
    }
    count_ = index_add({count_, more});
  }

  void add(const ev::ArrayConstructorValues<ev::SomeDerived>& values) {
    for (const auto& v : values) {
      if (const auto* one = std::get_if<ev::Expr<ev::SomeDerived>>(&v.u)) {
        add(*one);
        continue;
      }
      const auto& loop = std::get<ev::ImpliedDo<ev::SomeDerived>>(v.u);
      const Expr lower = to_index(loop.lower(), at_), upper = to_index(loop.upper(), at_),
                 step = to_index(loop.stride(), at_);
      const std::vector<Exprs> before = std::exchange(pieces_, std::vector<Exprs>(extents_.size()));
      const Expr records = std::exchange(count_, lit(0));
      add(loop.values());
      const std::vector<Exprs> turn = std::exchange(pieces_, before);
      for (std::size_t n = 0; n < turn.size(); ++n) {
        Exprs implied{var(loop.name().ToString(), at_), lower, upper, step};
        implied.insert(implied.end(), turn[n].begin(), turn[n].end());
        pieces_[n].push_back(call(kImplied, std::move(implied), at_));
      }
      const Expr turns = call("max", {length(lower, upper, step), lit(0)}, at_);
      count_ = index_add({records, index_mul(count_, turns)});
    }
  }

  /// The components; `shape`: of an array of several axes.
  Exprs all(const Exprs& shape = {}) const {
    Exprs out;
    for (std::size_t n = 0; n < pieces_.size(); ++n) {
      const Expr flat = call(kValues, pieces_[n], at_);
      Exprs extents = extents_[n];
      extents.insert(extents.end(), shape.begin(), shape.end());
      if (shape.empty()) extents.push_back(count_);
      out.push_back(extents.size() == 1 ? flat : in_shape(flat, extents, at_));
    }
    return out;
  }

 private:
  /// How many elements `place` has along its only axis behind those of a component.
  static Expr elements(const Expr& place, std::size_t axes) {
    const auto* l = place.as<Load>();
    std::size_t axis = axes;
    while (l && axis < l->index.size() && !l->index[axis].as<Slice>()) ++axis;
    if (l && axis == l->index.size())
      unsupported(place.at(), "records by an array of subscripts in an array constructor");
    return elements_along(place, axis);
  }

  const Span& at_;
  std::vector<Exprs> extents_;  // of each component, for one record
  std::vector<Exprs> pieces_;
  Expr count_ = lit(0);
};

/// The records of a constant.
Exprs values_of(const ev::Constant<ev::SomeDerived>& all, const sem::DerivedTypeSpec& type,
                const Span& at) {
  Records records(type, at);
  ev::ConstantSubscripts where = all.lbounds();
  for (std::size_t n = 0; n < all.size(); ++n, all.IncrementSubscripts(where))
    records.add(ev::Expr<ev::SomeDerived>{ev::Constant<ev::SomeDerived>{all.At(where)}});
  Exprs shape;
  for (const auto n : all.shape()) shape.push_back(lit(n));
  return records.all(shape);
}

/// The value of a component for all its elements.
Expr for_each_element(Expr value, std::size_t axes, const Exprs& extents, const Span& at) {
  for (const Expr& n : extents)
    value = call(kArrays + std::string("spread"),
                 {value, lit(static_cast<std::int64_t>(++axes)), n}, at);
  return value;
}

}  // namespace

Exprs absent_argument(const sem::Symbol* callee, std::size_t number, const Span& at) {
  const auto* d = callee ? callee->GetUltimate().detailsIf<sem::SubprogramDetails>() : nullptr;
  const sem::Symbol* dummy = d && number < d->dummyArgs().size() ? d->dummyArgs()[number] : nullptr;
  const sem::DeclTypeSpec* type = dummy ? dummy->GetType() : nullptr;
  const sem::DerivedTypeSpec* derived = type ? type->AsDerived() : nullptr;
  std::vector<std::size_t> axes;
  if (derived) axes_of_components(*derived, 0, at, axes);
  return Exprs(derived ? axes.size() : 1, call(kAbsent, {}, at));
}

namespace {

/// The components of what a function gives, see kRecord.
Exprs given_by(const ev::FunctionRef<ev::SomeDerived>& f, const sem::DerivedTypeSpec& type,
               const Span& at) {
  static std::atomic<std::int64_t> calls = 0;  // each has another number, whatever that is
  const sem::Symbol* callee = f.proc().GetSymbol();
  const std::string name = procedure_name(f.proc());
  if (!callee || f.proc().GetSpecificIntrinsic() || sem::IsDummy(*callee) ||
      !callee->GetUltimate().has<sem::SubprogramDetails>() || is_in_another_file(*callee, at))
    unsupported(at, fmt::format("the derived type that `{}` gives",
                                callee ? ieee_name(*callee).value_or(name) : name));
  const int rank = f.Rank();
  std::vector<std::size_t> axes;
  axes_of_components(type, 0, at, axes);
  const auto components = static_cast<std::int64_t>(axes.size());
  const bool each = callee->GetUltimate().attrs().test(sem::Attr::ELEMENTAL);
  Exprs shared{lit(++calls), lit(each ? rank : -rank)};
  check_there(f.arguments(), callee, at);
  for (std::size_t n = 0; n < f.arguments().size(); ++n) {
    const auto& a = f.arguments()[n];
    const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
    if (a && !value) unsupported(at, fmt::format("this argument of `{}`", name));
    if (const auto* d = value && rank > 0 ? as_derived(*value) : nullptr)
      axes_of_components(type_of_record(*d->GetType(), at), 0, at, axes);
    const Exprs given = value ? to_arguments(*value, at) : absent_argument(callee, n, at);
    shared.insert(shared.end(), given.begin(), given.end());
  }
  if (rank > 0 && each && std::any_of(axes.begin(), axes.end(), [](auto n) { return n > 0; }))
    unsupported(at,
                fmt::format("the array of records, or records of arrays, that `{}` gives", name));
  Exprs out;
  for (std::int64_t n = 0; n < components; ++n) {
    Exprs own{lit(n)};
    own.insert(own.end(), shared.begin(), shared.end());
    out.push_back(call(kRecord + name, std::move(own), at));
  }
  return out;
}

}  // namespace

namespace {

Exprs values_of(const ev::Expr<ev::SomeDerived>& e, bool full, const Span& at) {
  const auto type = e.GetType();
  if (!type) throw InternalError("Flang gives an expression no type");
  if (std::holds_alternative<ev::Designator<ev::SomeDerived>>(e.u))
    return components(to_expr(SomeExpr{ev::Expr<ev::SomeDerived>{e}}, at),
                      type_of_record(*type, at), at);
  if (const auto* f = std::get_if<ev::FunctionRef<ev::SomeDerived>>(&e.u))
    return given_by(*f, type_of_record(*type, at), at);
  if (const auto* p = std::get_if<ev::Parentheses<ev::SomeDerived>>(&e.u);
      p && !std::holds_alternative<ev::Designator<ev::SomeDerived>>(p->left().u))
    return values_of(p->left(), full, at);
  if (const auto* a = std::get_if<ev::ArrayConstructor<ev::SomeDerived>>(&e.u)) {
    Records records(type_of_record(*type, at), at);
    records.add(*a);
    return records.all();
  }
  if (const auto* c = std::get_if<ev::Constant<ev::SomeDerived>>(&e.u); c && c->Rank() > 0)
    return values_of(*c, type_of_record(*type, at), at);
  const auto given = constructor(e);
  if (!given)
    fail("unsupported", at, "a value of a derived type is not supported in Fortran kernels");
  Exprs out;
  for (const sem::Symbol* c : components_of(type_of_record(*type, at), at)) {
    const auto value = given->Find(*c);
    if (!value)
      fail("unsupported", at, "a component without a value is not supported in Fortran kernels");
    const bool one = c->Rank() > 0 && value->Rank() == 0;  // for all elements
    const auto* d = as_derived(*value);
    if (!d) {
      const Expr own = to_expr(*value, at);
      out.push_back(one && full ? for_each_element(own, 0, extents_of(*c, at), at) : own);
      continue;
    }
    const Exprs inner = values_of(*d, full, at);
    std::vector<std::size_t> axes;
    axes_of_components(type_of_record(*d->GetType(), at), 0, at, axes);
    for (std::size_t n = 0; n < inner.size(); ++n)
      out.push_back(one && (full || axes.at(n) > 0)
                        ? for_each_element(inner[n], axes.at(n), extents_of(*c, at), at)
                        : inner[n]);
  }
  return out;
}

}  // namespace

Exprs derived_values(const ev::Expr<ev::SomeDerived>& e, const Span& at) {
  return values_of(e, false, at);
}

namespace {

/// The values of the components, and theirs, one after the other.
void collect_values(const ev::Expr<ev::SomeDerived>& e, const Span& at,
                    std::vector<SomeExpr>& out) {
  const auto given = constructor(e);
  if (!given) unsupported(at, "an initial value of this form");
  for (const sem::Symbol* c : components_of(type_of_record(*e.GetType(), at), at)) {
    const auto value = given->Find(*c);
    if (!value || ev::IsNullPointer(&*value))
      unsupported(at, fmt::format("the initial value of `{}`", c->name().ToString()));
    if (const auto* d = as_derived(*value))
      collect_values(*d, at, out);
    else
      out.push_back(*value);
  }
}

}  // namespace

namespace {

/// What each record of `init` has for each component.
std::vector<std::vector<SomeExpr>> values_of_records(const SomeExpr& init, const Span& at) {
  const auto* derived = as_derived(init);
  const auto* all = derived ? std::get_if<ev::Constant<ev::SomeDerived>>(&derived->u) : nullptr;
  if (!derived || (init.Rank() > 0 && !all)) unsupported(at, "an initial value of this form");
  std::vector<std::vector<SomeExpr>> records;
  if (init.Rank() == 0) {
    collect_values(*derived, at, records.emplace_back());
    return records;
  }
  ev::ConstantSubscripts where = all->lbounds();
  for (std::size_t n = 0; n < all->size(); ++n, all->IncrementSubscripts(where)) {
    const ev::Expr<ev::SomeDerived> one{ev::Constant<ev::SomeDerived>{all->At(where)}};
    collect_values(one, at, records.emplace_back());
  }
  if (records.empty()) unsupported(at, "an initial value without elements");
  return records;
}

/// The elements that component `c` has, record after record.
Exprs elements_of(const std::vector<std::vector<SomeExpr>>& records, std::size_t c,
                  const Span& at) {
  Exprs out;
  for (const auto& record : records) {
    const Exprs own = to_elements(record[c], at);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace

std::vector<Exprs> constant_values(const SomeExpr& init, const Span& at) {
  const std::vector<std::vector<SomeExpr>> records = values_of_records(init, at);
  std::vector<Exprs> out;
  for (std::size_t c = 0; c < records[0].size(); ++c) out.push_back(elements_of(records, c, at));
  return out;
}

std::vector<DefaultValue> default_values(const SomeExpr& init, const Span& at) {
  const std::vector<std::vector<SomeExpr>> records = values_of_records(init, at);
  std::vector<DefaultValue> out;
  if (init.Rank() == 0) {
    for (const SomeExpr& v : records[0]) out.push_back({to_expr(v, at), v.Rank()});
    return out;
  }
  const auto& all = std::get<ev::Constant<ev::SomeDerived>>(as_derived(init)->u);
  for (std::size_t c = 0; c < records[0].size(); ++c) {
    const int inner = records[0][c].Rank();
    if (inner > 1 || is_text(records[0][c].GetType()))
      unsupported(at, "an initial value of such components of an array");
    const Exprs elements = elements_of(records, c, at);
    Exprs table{lit(inner + init.Rank())};
    if (inner > 0)
      table.push_back(lit(static_cast<std::int64_t>(elements.size() / records.size())));
    for (const auto n : all.shape()) table.push_back(lit(n));
    table.insert(table.end(), elements.begin(), elements.end());
    out.push_back({call(kTable, std::move(table), at), inner + init.Rank()});
  }
  return out;
}

std::vector<Assignment> to_assignments(const SomeExpr& to, const SomeExpr& value, const Span& at) {
  const auto *left = as_derived(to), *right = as_derived(value);
  if (!left || !right) return {{to_expr(to, at), to_expr(value, at)}};
  if (const auto type = left->GetType(); type && is_chained(type_of_record(*type, at)))
    unsupported(at, fmt::format("the assignment of a `{}`, whose components lead back to it,",
                                type->GetDerivedTypeSpec().name().ToString()));
  const Exprs places = derived_values(*left, at);
  Exprs values = derived_values(*right, at);
  if (const int more = left->Rank(); more > 0 && right->Rank() == 0) {
    std::vector<std::size_t> axes;
    axes_of_components(type_of_record(*left->GetType(), at), 0, at, axes);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (axes.at(i) > 0)
        values.at(i) =
            for_each_record(values.at(i), axes[i], static_cast<std::size_t>(more), places[i]);
  }
  std::vector<Assignment> out;
  for (std::size_t i = 0; i < places.size(); ++i) out.push_back({places[i], values.at(i)});
  return out;
}

namespace {

/// The types of what functions give, by their names.
struct RecordFunctions : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Expr>([&](const auto& e) { post(e); });
  }
  void post(const fp::Expr& e) {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    const auto* d = typed ? as_derived(*typed) : nullptr;
    const auto* f = d ? std::get_if<ev::FunctionRef<ev::SomeDerived>>(&d->u) : nullptr;
    if (f && d->GetType()) types.emplace(procedure_name(f->proc()), *d->GetType());
  }

  std::map<std::string, ev::DynamicType> types;
};

/// Calls of functions that have to be statements of their own.
class RecordCalls {
 public:
  static bool has_one(const Expr& e) {
    bool found = false;
    if (e)
      walk(e, [&](const Expr& x) {
        found = found || is_conditional(x) || !called(x, kRecord).empty();
        return !found;
      });
    return found;
  }

  RecordCalls(std::map<std::string, ev::DynamicType> types, const Places& places, Routine& routine)
      : types_(std::move(types)), places_(places), r_(routine) {}

  Body body(const Body& b) {
    Body out;
    for (const Statement& s : b) statement(s, out);
    return out;
  }

 private:
  void statement(Statement s, Body& out) {
    if (const auto* c = std::get_if<Choice>(&s.what))
      return put_choice(
          *c, 0, s.at, out,
          [&](const Expr& e, Body& before) {
            const auto outside = given_;  // it may be asked again, for the place where it counts
            const Expr out_of = value(e, s.at, before);
            given_ = outside;
            return out_of;
          },
          [&](const Body& b) { return body(b); });
    const auto* f = std::get_if<Forall>(&s.what);
    const bool asks = f && f->mask && has_one(f->mask);
    if (std::holds_alternative<Where>(s.what) || asks || (f && !f->concurrent)) refuse_in(s);
    if (auto* c = std::get_if<SubroutineCall>(&s.what))
      std::erase_if(c->otherwise, [](const SubroutineCall& other) {
        return std::any_of(other.arguments.begin(), other.arguments.end(), has_one);
      });
    const auto* a = std::get_if<Assignment>(&s.what);
    to_ = a ? a->to : Expr();
    expressions(s, [&](Expr& e) { e = value(e, s.at, out); });
    to_ = Expr();
    for (auto* inner : bodies(s)) *inner = std::make_shared<Body>(body(**inner));
    out.push_back(std::move(s));
  }

  static bool is_conditional(const Expr& e) {
    const auto* c = e.as<Call>();
    return c && c->name == kWhereThere;
  }

  /// Which elements the function gets depends on the mask, or on others.
  static void refuse_in(const Statement& s) {
    expressions(s, [&](const Expr& e) {
      if (has_one(e))
        unsupported(s.at,
                    "a function that gives a derived type, or gets an allocatable or a pointer for "
                    "an optional argument, in this construct,");
    });
    for (const auto* inner : bodies(s))
      for (const Statement& x : **inner) refuse_in(x);
  }

  Expr value(const Expr& e, const Span& at, Body& out) {
    if (!has_one(e)) return e;
    if (is_conditional(e)) {
      const Expr to = new_scalar(r_, "value", e.as<Call>()->args.at(3).as<Cast>()->type, at);
      put_where_there(e, to, at, out);
      return to;
    }
    const Expr inner = map_children(e, [&](const Expr& x) { return value(x, at, out); });
    const std::string function = called(inner, kRecord);
    if (function.empty()) return inner;
    const Exprs& args = inner.as<Call>()->args;
    const auto [it, added] = given_.try_emplace(*as_int(args.at(1)));
    if (added)
      it->second = put(function, *as_int(args.at(2)), {args.begin() + 3, args.end()}, at, out);
    return it->second.at(static_cast<std::size_t>(*as_int(args[0])));
  }

  /// Assigns a function's value, called with the arguments that are there.
  void put_where_there(const Expr& e, const Expr& to, const Span& at, Body& out) {
    if (!is_conditional(e)) return out.push_back({at, Assignment{to, value(e, at, out)}});
    const Exprs& args = e.as<Call>()->args;
    Choice c;
    for (std::size_t n = 1; n < 3; ++n) {
      auto arm = std::make_shared<Body>();
      const auto outside = given_;
      put_where_there(args[n], to, at, *arm);
      given_ = outside;
      c.arms.push_back({n == 1 ? args[0] : Expr(), std::move(arm)});
    }
    out.push_back({at, std::move(c)});
  }

  /// The axes along which the values of a function run: of `rank` arguments for each element of
  /// which it is called, or below 0 of the variable that gets the array of records.
  std::vector<Axis> axes_of_value(const std::string& function, std::int64_t rank,
                                  const Exprs& arguments, const Span& at) const {
    if (rank == 0) return {};
    if (rank > 0) {
      const auto along = std::find_if(arguments.begin(), arguments.end(),
                                      [&](const Expr& a) { return !axes_of(a, r_).empty(); });
      if (along != arguments.end()) return axes_of(*along, r_);
    } else if (to_) {
      std::vector<Axis> all = axes_of(to_, r_);  // behind those of a component
      if (const auto n = static_cast<std::ptrdiff_t>(all.size()) + rank; n >= 0) {
        all.erase(all.begin(), all.begin() + n);
        return all;
      }
    }
    unsupported(at, fmt::format("the array of records that `{}` gives, other than for a variable,",
                                bare_name(function)));
  }

  /// The call, and where the components are then.
  Exprs put(const std::string& function, std::int64_t rank, Exprs arguments, const Span& at,
            Body& out) {
    const ev::DynamicType& type = types_.at(function);
    std::vector<Bounds> bounds;
    Exprs section;
    for (const Axis& a : axes_of_value(function, rank, arguments, at)) {
      if (!a.upper) unsupported(at, fmt::format("`{}` of this array", bare_name(function)));
      const Expr all = length(a.lower, a.upper, a.step);
      bounds.push_back({Expr(), a.most ? length(a.least, a.most, 1) : all});
      section.push_back(Expr(Slice{lit(1), all, lit(1)}, at));
    }
    const std::string own = new_name(function.substr(function.find_last_of(":%") + 1) + "_value");
    read_record(own, type, std::move(bounds), at, places_, r_);
    const Expr whole = section.empty() ? var(own, at) : load(own, std::move(section), at);
    const Exprs all = components(whole, type_of_record(type, at), at);
    SubroutineCall c{function, std::move(arguments)};
    c.arguments.insert(c.arguments.end(), all.begin(), all.end());
    c.elemental = rank > 0;
    c.gives_record = true;
    out.push_back({at, std::move(c)});
    return all;
  }

  /// One with which no variable's name begins.
  std::string new_name(const std::string& base) const {
    const auto is_taken = [&](const std::string& name) {
      const auto it = r_.variables.lower_bound(name);
      return it != r_.variables.end() && it->first.starts_with(name);
    };
    std::string out = base;
    for (int n = 1; is_taken(out); ++n) out = base + std::to_string(n);
    return out;
  }

  std::map<std::string, ev::DynamicType> types_;
  const Places& places_;
  Routine& r_;
  std::map<std::int64_t, Exprs> given_;  // by the numbers of calls
  Expr to_;                              // what an assignment assigns
};

}  // namespace

void put_record_calls(const fp::Block& all, const Places& places, Routine& routine) {
  RecordFunctions functions;
  walk(all, functions);
  bool some = !functions.types.empty();
  each(routine.body, [&](const Statement& s) {
    expressions(s, [&](const Expr& e) { some = some || RecordCalls::has_one(e); });
  });
  if (!some) return;
  routine.body = RecordCalls(std::move(functions.types), places, routine).body(routine.body);
}

}  // namespace moonloop::fortran
