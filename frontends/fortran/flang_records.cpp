#include <algorithm>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/sections.h"

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
  if (record && !append_component(type->GetDerivedTypeSpec(), at, name, axis))
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
      const Exprs inner = components(part, t->GetDerivedTypeSpec(), at);
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      out.push_back(part);
    }
  }
  return out;
}

/// How many axes each of the components has, and theirs, in the same order.
void axes_of_components(const sem::DerivedTypeSpec& type, std::size_t around, const Span& at,
                        std::vector<std::size_t>& out) {
  for (const sem::Symbol* c : components_of(type, at)) {
    const auto axes = around + static_cast<std::size_t>(c->Rank()) + (is_text(*c) ? 1 : 0);
    const auto t = ev::DynamicType::From(*c);
    if (t && t->category() == TypeCategory::Derived)
      axes_of_components(t->GetDerivedTypeSpec(), axes, at, out);
    else
      out.push_back(axes);
  }
}

/// How many elements `place` has along an axis of its variable.
Expr elements_along(const Expr& place, std::size_t axis) {
  const auto* l = place.as<Load>();
  const Expr whole = var(l ? l->array : place.as<Var>()->name, place.at());
  const auto bound = [&](const char* end) {
    return call(std::string(kBound) + end, {whole, lit(static_cast<std::int64_t>(axis) + 1)},
                place.at());
  };
  const Slice* s = l ? l->index[axis].as<Slice>() : nullptr;
  const auto step = s && s->step ? as_int(s->step) : std::optional<std::int64_t>(1);
  if (!step)
    fail("unsupported", place.at(),
         "a section's step that is not a constant is not supported in Fortran kernels");
  return length(s && s->start ? s->start : bound("lbound"),
                s && s->stop ? s->stop : bound("ubound"), *step);
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

}  // namespace

Exprs derived_values(const ev::Expr<ev::SomeDerived>& e, const Span& at) {
  const auto type = e.GetType();
  if (!type) throw InternalError("Flang gives an expression no type");
  if (std::holds_alternative<ev::Designator<ev::SomeDerived>>(e.u))
    return components(to_expr(SomeExpr{ev::Expr<ev::SomeDerived>{e}}, at),
                      type->GetDerivedTypeSpec(), at);
  const auto given = constructor(e);
  if (!given)
    fail("unsupported", at, "a value of a derived type is not supported in Fortran kernels");
  Exprs out;
  for (const sem::Symbol* c : components_of(type->GetDerivedTypeSpec(), at)) {
    const auto value = given->Find(*c);
    if (!value)
      fail("unsupported", at, "a component without a value is not supported in Fortran kernels");
    if (const auto* d = as_derived(*value)) {
      const Exprs inner = derived_values(*d, at);
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      out.push_back(to_expr(*value, at));
    }
  }
  return out;
}

std::vector<Assignment> to_assignments(const SomeExpr& to, const SomeExpr& value, const Span& at) {
  const auto *left = as_derived(to), *right = as_derived(value);
  if (!left || !right) return {{to_expr(to, at), to_expr(value, at)}};
  if (const auto type = left->GetType(); type && is_chained(type->GetDerivedTypeSpec()))
    unsupported(at, fmt::format("the assignment of a `{}`, whose components lead back to it,",
                                type->GetDerivedTypeSpec().name().ToString()));
  const Exprs places = derived_values(*left, at);
  Exprs values = derived_values(*right, at);
  if (const int more = left->Rank(); more > 0 && right->Rank() == 0) {
    std::vector<std::size_t> axes;
    axes_of_components(left->GetType()->GetDerivedTypeSpec(), 0, at, axes);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (axes.at(i) > 0)
        values.at(i) =
            for_each_record(values.at(i), axes[i], static_cast<std::size_t>(more), places[i]);
  }
  std::vector<Assignment> out;
  for (std::size_t i = 0; i < places.size(); ++i) out.push_back({places[i], values.at(i)});
  return out;
}

}  // namespace moonloop::fortran
