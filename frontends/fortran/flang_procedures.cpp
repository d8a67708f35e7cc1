#include <algorithm>
#include <set>
#include <string>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/procedures.h"

// Procedures: their names, and how they are called or passed.
namespace moonloop::fortran {

namespace {

/// What a procedure of a submodule is for those who call it: the interface in the module.
const sem::Symbol& named_in_module(const sem::Symbol& symbol) {
  const sem::Symbol& s = symbol.GetUltimate();
  const auto* details = s.detailsIf<sem::SubprogramDetails>();
  return details && details->moduleInterface() ? details->moduleInterface()->GetUltimate() : s;
}

}  // namespace

std::string routine_name(const sem::Symbol& symbol) {
  const sem::Symbol& s = named_in_module(symbol);
  const std::string name = s.name().ToString();
  const auto* details = s.detailsIf<sem::SubprogramDetails>();
  if (!details || (details->isInterface() && !sem::IsSeparateModuleProcedureInterface(&s)))
    return name;  // defined elsewhere
  const sem::Symbol* around = s.owner().symbol();
  if (!around) return name;
  if (s.owner().IsModule() || s.owner().IsSubmodule())
    return around->name().ToString() + "::" + name;
  return around->has<sem::SubprogramDetails>() ? routine_name(*around) + "%" + name : name;
}

std::string procedure_name(const ev::ProcedureDesignator& p) {
  const sem::Symbol* symbol = p.GetSymbol();
  return symbol ? routine_name(*symbol) : p.GetName();
}

bool is_extension(const sem::Symbol& procedure) {
  static const std::set<std::string> kNames{
      "access", "alarm",   "algama",  "besj0",   "besj1",    "besjn",  "besy0",  "besy1",  "besyn",
      "chmod",  "complex", "cotan",   "cotand",  "ctime",    "dbesj0", "dbesj1", "dbesjn", "dbesy0",
      "dbesy1", "dbesyn",  "dcotan",  "dcotand", "dgamma",   "dtime",  "fdate",  "fget",   "fgetc",
      "fnum",   "fput",    "fputc",   "fstat",   "gerror",   "getarg", "getlog", "gmtime", "iargc",
      "idate",  "ierrno",  "isatty",  "itime",   "kill",     "lgamma", "link",   "long",   "lstat",
      "ltime",  "mclock",  "mclock8", "ran",     "realpart", "short",  "srand",  "stat",   "symlnk",
      "time",   "time8",   "ttynam",  "umask",   "unlink",   "zexp",   "zlog",   "zsqrt"};
  const sem::Symbol& s = procedure.GetUltimate();
  const auto* p = s.detailsIf<sem::ProcEntityDetails>();
  return p && !p->procInterface() && !sem::IsDummy(s) && !sem::IsPointer(s) &&
         (!s.attrs().test(sem::Attr::EXTERNAL) || s.implicitAttrs().test(sem::Attr::EXTERNAL)) &&
         kNames.contains(s.name().ToString());
}

bool is_found_at_run_time(const ev::ProcedureDesignator& p) {
  const sem::Symbol* symbol = p.GetSymbol();
  if (!symbol || p.GetSpecificIntrinsic()) return false;
  return p.GetComponent() || symbol->has<sem::ProcBindingDetails>() ||
         sem::IsProcedurePointer(symbol->GetUltimate());
}

std::string name_of_function(const ev::ProcedureDesignator& p, const Span& at) {
  const std::string name = procedure_name(p);
  if (is_found_at_run_time(p))
    unsupported(at, fmt::format("the function `{}`, which {},", name,
                                p.GetSymbol()->has<sem::ProcBindingDetails>()
                                    ? "the type of a variable names"
                                    : "is a pointer"));
  return name;
}

bool is_address(const sem::Symbol& s) {
  const bool pointer = sem::IsProcedurePointer(s);
  const bool own = pointer && s.owner().kind() == sem::Scope::Kind::Subprogram &&
                   s.has<sem::ProcEntityDetails>() && !sem::IsFunctionResult(s);
  if (!(sem::IsDummy(s) ? sem::IsProcedure(s) && !pointer : own)) return false;
  const auto type = ev::DynamicType::From(s);
  return !s.attrs().test(sem::Attr::ELEMENTAL) && s.Rank() == 0 &&
         (!sem::IsFunction(s) ||
          (type && (numeric_type(*type) || type->category() == TypeCategory::Logical)));
}

const sem::Symbol* as_address(const SomeExpr& e) {
  const auto* p = std::get_if<ev::ProcedureDesignator>(&e.u);
  const sem::Symbol* symbol = p && !p->GetComponent() ? p->GetSymbol() : nullptr;
  return symbol && is_address(*symbol) ? symbol : nullptr;
}

const sem::Symbol* procedure_pointer_of(const fp::PointerAssignmentStmt& s) {
  const ev::Assignment* a = sem::GetAssignment(s);
  return a ? as_address(a->lhs) : nullptr;
}

std::string procedure_type(const sem::Symbol& procedure, const Span& at) {
  const auto type = ev::DynamicType::From(procedure);
  if (!sem::IsFunction(procedure) || !type) return {};
  if (type->category() == TypeCategory::Logical) return fmt::format("logical({})", type->kind());
  const auto number = numeric_type(*type);
  if (!number || procedure.Rank() > 0)
    unsupported(at, fmt::format("the function `{}` of this type", procedure.name().ToString()));
  return type_in_fortran(*number, at);
}

namespace {

/// Whether values of a derived type are where their only component is; the address of others is not
/// passed.
bool is_one_component(const ev::DynamicType& type) {
  if (type.IsPolymorphic()) return false;
  const sem::DerivedTypeSpec& spec = type.GetDerivedTypeSpec();
  const auto& names = spec.typeSymbol().get<sem::DerivedTypeDetails>().componentNames();
  if (names.size() != 1 || !spec.scope()) return false;
  const auto it = spec.scope()->find(names.front());
  const bool object = it != spec.scope()->end() && it->second->has<sem::ObjectEntityDetails>();
  const auto own = object ? ev::DynamicType::From(*it->second) : std::nullopt;
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
  const sem::Symbol& named = named_in_module(s);
  const bool in_module = named.owner().IsModule();
  if (!d || d->isInterface() || !(in_module || s.owner().IsGlobal()) ||
      s.attrs().HasAny({sem::Attr::BIND_C, sem::Attr::ELEMENTAL}))
    return std::nullopt;
  for (const sem::Symbol* dummy : d->dummyArgs()) {
    const auto type = dummy ? ev::DynamicType::From(*dummy) : std::nullopt;
    if (dummy && is_address(*dummy) && !dummy->attrs().test(sem::Attr::OPTIONAL)) continue;
    if (!type || !is_plain(*dummy) || type->category() == TypeCategory::Derived)
      return std::nullopt;
  }
  Routine::ByAddress out{std::nullopt, in_module, named.attrs().test(sem::Attr::PRIVATE)};
  if (!d->isFunction()) return out;
  const sem::Symbol& result = d->result();
  const auto type = ev::DynamicType::From(result);
  if (!type || result.Rank() > 0 ||
      result.attrs().HasAny({sem::Attr::POINTER, sem::Attr::ALLOCATABLE}))
    return std::nullopt;
  const bool logical = type->category() == TypeCategory::Logical && type->kind() == 4;
  out.gives = logical ? std::optional(Type(Scalar::Bool)) : numeric_type(*type);
  return out.gives ? std::optional(out) : std::nullopt;
}

namespace {

/// Fails where an interface asks for more than addresses; `where` is after the procedure's name.
void check_by_address(const sem::Symbol& s, const Span& at, std::string_view where) {
  const auto refuse = [&](std::string_view what) {
    unsupported(at, fmt::format("{} of `{}`{}", what, s.name().ToString(), where));
  };
  if (s.attrs().test(sem::Attr::BIND_C)) refuse("`bind(c)`");
  for (const sem::Symbol* dummy : s.get<sem::SubprogramDetails>().dummyArgs()) {
    if (!dummy) refuse("an alternate return");
    if (!is_plain(*dummy))
      refuse(fmt::format("the argument `{}`, which is not a plain variable or array,",
                         dummy->name().ToString()));
  }
}

}  // namespace

bool is_in_another_file(const sem::Symbol& procedure, const Span& at) {
  const sem::Symbol& s = procedure.GetUltimate();
  const auto* d = s.detailsIf<sem::SubprogramDetails>();
  if (const auto* p = s.detailsIf<sem::ProcEntityDetails>(); p && p->procInterface())
    return is_in_another_file(*p->procInterface(), at);
  if (!d) return true;
  if (!d->isInterface() || sem::IsSeparateModuleProcedureInterface(&s)) return false;
  check_by_address(s, at, ", which is in another file,");
  return true;
}

bool may_be_in_another_file(const sem::Symbol& procedure, const Span& at) {
  const sem::Symbol& s = procedure.GetUltimate();
  if (!sem::IsSeparateModuleProcedureInterface(&s)) return is_in_another_file(procedure, at);
  const auto& dummies = s.get<sem::SubprogramDetails>().dummyArgs();
  return !s.attrs().test(sem::Attr::BIND_C) &&
         std::all_of(dummies.begin(), dummies.end(),
                     [](const sem::Symbol* d) { return d && is_plain(*d); });
}

Expr passed_procedure(const ev::ProcedureDesignator& p, const Span& at) {
  const sem::Symbol* symbol = p.GetSymbol();
  const std::string name = procedure_name(p);
  const auto refuse = [&] {
    unsupported(at, fmt::format("the procedure `{}` as an argument", name));
  };
  if (!symbol || p.GetSpecificIntrinsic()) refuse();
  if (is_address(*symbol)) return procedure_in(var(name, at), at);
  if (sem::IsProcedurePointer(*symbol)) refuse();
  if (sem::IsDummy(*symbol)) return procedure_in(var(name, at), at);
  const sem::Symbol& s = symbol->GetUltimate();
  const auto* d = s.detailsIf<sem::SubprogramDetails>();
  if (d && s.owner().IsModule() &&
      (!d->isInterface() || sem::IsSeparateModuleProcedureInterface(&s))) {
    check_by_address(s, at, "");
    return procedure_named(name, at, s.attrs().test(sem::Attr::PRIVATE));
  }
  const bool elsewhere =
      s.has<sem::ProcEntityDetails>() || (d && (d->isInterface() || s.owner().IsGlobal()));
  if (!elsewhere) refuse();
  return procedure_named(name, at);
}

}  // namespace moonloop::fortran
