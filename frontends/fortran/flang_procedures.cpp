#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/procedures.h"

// Procedures: their names, and how they are called or passed.
namespace moonloop::fortran {

std::string routine_name(const sem::Symbol& symbol) {
  const sem::Symbol& s = symbol.GetUltimate();
  const std::string name = s.name().ToString();
  const auto* details = s.detailsIf<sem::SubprogramDetails>();
  if (!details || details->isInterface()) return name;  // defined elsewhere
  const sem::Symbol* around = s.owner().symbol();
  if (!around) return name;
  if (s.owner().IsModule()) return around->name().ToString() + "::" + name;
  return around->has<sem::SubprogramDetails>() ? routine_name(*around) + "%" + name : name;
}

std::string procedure_name(const ev::ProcedureDesignator& p) {
  const sem::Symbol* symbol = p.GetSymbol();
  return symbol ? routine_name(*symbol) : p.GetName();
}

namespace {

/// Whether values of a derived type are where their only component is; the address of others is not
/// passed.
bool is_one_component(const ev::DynamicType& type) {
  if (type.IsPolymorphic()) return false;
  const auto all = components_of(type.GetDerivedTypeSpec(), {});
  const auto own = all.size() == 1 ? ev::DynamicType::From(*all[0]) : std::nullopt;
  return own && (own->category() != TypeCategory::Derived || is_one_component(*own));
}

/// A dummy argument that is passed by its address, and its length where it is of characters.
bool is_plain(const sem::Symbol& dummy) {
  const auto type = ev::DynamicType::From(dummy);
  if (type && type->category() == TypeCategory::Derived && !type->IsAssumedType() &&
      !is_one_component(*type))
    return false;
  const auto* object = dummy.detailsIf<sem::ObjectEntityDetails>();
  return object && !object->IsAssumedShape() && !object->IsAssumedRank() &&
         !dummy.attrs().HasAny(
             {sem::Attr::VALUE, sem::Attr::OPTIONAL, sem::Attr::POINTER, sem::Attr::ALLOCATABLE});
}

}  // namespace

std::optional<Routine::ByAddress> by_address(const sem::Symbol& routine) {
  const sem::Symbol& s = routine.GetUltimate();
  const auto* d = s.detailsIf<sem::SubprogramDetails>();
  if (!d || d->isInterface() || !s.owner().IsGlobal() ||
      s.attrs().HasAny({sem::Attr::BIND_C, sem::Attr::ELEMENTAL}))
    return std::nullopt;
  for (const sem::Symbol* dummy : d->dummyArgs()) {
    const auto type = dummy ? ev::DynamicType::From(*dummy) : std::nullopt;
    if (!type || !is_plain(*dummy) || type->category() == TypeCategory::Derived)
      return std::nullopt;
  }
  if (!d->isFunction()) return Routine::ByAddress{};
  const sem::Symbol& result = d->result();
  const auto type = ev::DynamicType::From(result);
  if (!type || result.Rank() > 0 ||
      result.attrs().HasAny({sem::Attr::POINTER, sem::Attr::ALLOCATABLE}))
    return std::nullopt;
  if (type->category() == TypeCategory::Logical && type->kind() == 4)
    return Routine::ByAddress{Type(Scalar::Bool)};
  const std::optional<Type> gives = numeric_type(*type);
  return gives ? std::optional(Routine::ByAddress{gives}) : std::nullopt;
}

bool is_in_another_file(const sem::Symbol& procedure, const Span& at) {
  const sem::Symbol& s = procedure.GetUltimate();
  const auto* d = s.detailsIf<sem::SubprogramDetails>();
  if (const auto* p = s.detailsIf<sem::ProcEntityDetails>(); p && p->procInterface())
    return is_in_another_file(*p->procInterface(), at);
  if (!d) return true;
  if (!d->isInterface()) return false;
  const auto refuse = [&](std::string_view what) {
    unsupported(at,
                fmt::format("{} of `{}`, which is in another file,", what, s.name().ToString()));
  };
  if (s.attrs().test(sem::Attr::BIND_C)) refuse("`bind(c)`");
  for (const sem::Symbol* dummy : d->dummyArgs()) {
    if (!dummy) refuse("an alternate return");
    if (!is_plain(*dummy))
      refuse(fmt::format("the argument `{}`, which is not a plain variable or array,",
                         dummy->name().ToString()));
  }
  return true;
}

Expr passed_procedure(const ev::ProcedureDesignator& p, const Span& at) {
  const sem::Symbol* symbol = p.GetSymbol();
  const std::string name = procedure_name(p);
  const auto refuse = [&] {
    unsupported(at, fmt::format("the procedure `{}` as an argument", name));
  };
  if (!symbol || p.GetSpecificIntrinsic() || sem::IsProcedurePointer(*symbol)) refuse();
  if (sem::IsDummy(*symbol)) return procedure_in(var(name, at), at);
  const sem::Symbol& s = symbol->GetUltimate();
  const auto* d = s.detailsIf<sem::SubprogramDetails>();
  const bool elsewhere =
      s.has<sem::ProcEntityDetails>() || (d && (d->isInterface() || s.owner().IsGlobal()));
  if (!elsewhere) refuse();
  return procedure_named(name, at);
}

}  // namespace moonloop::fortran
