/// What symbols and types are.
#include "frontends/fortran/flang.h"

#include <algorithm>

namespace moonloop::fortran {

std::string name_of(TypeCategory category) {
  switch (category) {
    case TypeCategory::Integer: return "integer";
    case TypeCategory::Real: return "real";
    case TypeCategory::Complex: return "complex";
    case TypeCategory::Character: return "character";
    case TypeCategory::Logical: return "logical";
    default: return "derived";
  }
}

std::optional<Type> numeric_type(const ev::DynamicType& t) {
  const int kind = t.category() == TypeCategory::Derived ? 0 : t.kind();
  switch (t.category()) {
    case TypeCategory::Integer:
      if (kind == 1) return Scalar::I8;
      if (kind == 2) return Scalar::I16;
      if (kind == 4) return Scalar::I32;
      if (kind == 8) return Scalar::I64;
      break;
    case TypeCategory::Real:
      if (kind == 2) return Scalar::F16;
      if (kind == 4) return Scalar::F32;
      if (kind == 8) return Scalar::F64;
      break;
    case TypeCategory::Complex:
      if (kind == 4) return Scalar::C64;
      if (kind == 8) return Scalar::C128;
      break;
    default: break;
  }
  return std::nullopt;
}

std::string variable_name(const sem::Symbol& symbol) {
  const auto is_from_around = [](const sem::Symbol& x) {
    return x.has<sem::HostAssocDetails>() &&
           (x.owner().kind() == sem::Scope::Kind::OtherConstruct ||  // private in a construct
            x.owner().kind() == sem::Scope::Kind::BlockConstruct);   // of the host
  };
  if (is_from_around(symbol)) return variable_name(symbol.get<sem::HostAssocDetails>().symbol());
  const sem::Symbol& s = symbol;
  const std::string base = s.name().ToString();
  const auto in_construct = [&](const sem::Symbol& x) {
    if (is_from_around(x)) return false;
    return x.owner().kind() == sem::Scope::Kind::BlockConstruct || x.has<sem::AssocEntityDetails>();
  };
  if (!in_construct(s)) return base;
  const sem::Scope* routine = &s.owner();
  while (routine->kind() == sem::Scope::Kind::BlockConstruct ||
         routine->kind() == sem::Scope::Kind::OtherConstruct)
    routine = &routine->parent();
  int number = 0;  // of the symbols of this name up to this one
  bool found = false;
  const std::function<void(const sem::Scope&)> visit = [&](const sem::Scope& scope) {
    for (const sem::Scope& inner : scope.children()) {
      if (found) return;
      const auto it = inner.find(s.name());
      found = it != inner.end() && &*it->second == &s;
      if (it != inner.end() && in_construct(*it->second)) ++number;
      if (!found) visit(inner);
    }
  };
  visit(*routine);
  if (!routine->FindSymbol(s.name())) --number;
  if (number == 0) return base;
  for (int n = 1;; ++n) {
    std::string own = base + "_" + std::to_string(n);
    if (!routine->FindSymbol(fp::CharBlock{own}) && --number == 0) return own;
  }
}

const SomeExpr* associated_value(const sem::Symbol& symbol) {
  const auto* details = symbol.GetUltimate().detailsIf<sem::AssocEntityDetails>();
  const SomeExpr* e = details && details->expr() ? &*details->expr() : nullptr;
  // A part of a complex variable is a place, too.
  if (!e || e->Rank() > 0 || ev::ExtractDataRef(*e, true, true)) return nullptr;
  const auto type = e->GetType();
  if (!type || !numeric_type(*type)) return nullptr;
  const auto all = ev::CollectSymbols(*e);
  const bool stays = std::all_of(all.begin(), all.end(), [](const sem::Symbol& s) {
    const sem::Symbol& x = s.GetUltimate();
    return sem::IsNamedConstant(x) ||
           (sem::IsIntentIn(x) && !x.attrs().HasAny({sem::Attr::TARGET, sem::Attr::POINTER}));
  });
  return stays ? nullptr : e;
}

bool is_text(const sem::Symbol& symbol) {
  return is_text(ev::DynamicType::From(symbol.GetUltimate()));
}

bool is_text(const std::optional<ev::DynamicType>& type) {
  return type && type->category() == TypeCategory::Character && type->knownLength() != 1;
}

bool has_assumed_length(const sem::Symbol& symbol) {
  const auto type = ev::DynamicType::From(symbol.GetUltimate());
  return type && type->charLengthParamValue() && type->charLengthParamValue()->isAssumed();
}

bool is_assumed_shape(const sem::Symbol& symbol) {
  const auto* object = symbol.GetUltimate().detailsIf<sem::ObjectEntityDetails>();
  return object && sem::IsDummy(symbol.GetUltimate()) && object->IsAssumedShape() &&
         !sem::IsAllocatable(symbol.GetUltimate()) && !sem::IsPointer(symbol.GetUltimate());
}

bool begins_at_one(const sem::Symbol& symbol) {
  const auto* object = symbol.GetUltimate().detailsIf<sem::ObjectEntityDetails>();
  return is_assumed_shape(symbol) &&
         std::all_of(object->shape().begin(), object->shape().end(), [](const auto& axis) {
           return axis.lbound().isColon() || ev::ToInt64(axis.lbound().GetExplicit()) == 1;
         });
}

bool is_outer(const sem::Symbol& symbol) {
  const sem::Symbol& s = symbol.GetUltimate();
  const auto kind = s.owner().kind();
  return s.has<sem::ObjectEntityDetails>() && !sem::IsNamedConstant(s) &&
         (kind == sem::Scope::Kind::Module || kind == sem::Scope::Kind::MainProgram ||
          sem::FindCommonBlockContaining(s));
}

std::string holder_of(const sem::Symbol& symbol) {
  const sem::Scope& owner = symbol.owner();
  if (owner.kind() == sem::Scope::Kind::MainProgram) return kProgram;
  if (owner.kind() != sem::Scope::Kind::Module) return "";
  const std::string name = DEREF(owner.symbol()).name().ToString();
  return name.starts_with("__") ? "" : name;  // Flang's own, which no program can use
}

}  // namespace moonloop::fortran
