#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/uses.h"

// Flang's symbols as variables.
namespace moonloop::fortran {
namespace {

class Declarations {
 public:
  Declarations(const Places& places, Routine& routine) : places_(places), routine_(routine) {}

  /// Fails with all that is wrong.
  void read(const sem::Scope& scope) {
    std::vector<Diagnostic> errors;
    for (const auto& [name, symbol] : scope) try {
        const sem::Symbol& s = symbol->GetUltimate();
        if (s.has<sem::ObjectEntityDetails>() && &s.owner() == &scope) add(*symbol, s);
      } catch (const Error& e) {
        errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
      }
    if (!errors.empty()) throw Error(std::move(errors));
  }

  /// A name of a scope around, where it is a module's or the routine's own.
  void read_around(const sem::Scope& scope, const std::string& name) {
    const sem::Symbol* symbol = scope.FindSymbol(fp::CharBlock{name});
    if (!symbol) return refuse_component(scope, name);
    const sem::Symbol& s = symbol->GetUltimate();
    if (s.has<sem::ObjectEntityDetails>() && !in_routine(s)) add(*symbol, s);
  }

 private:
  /// `p_x` is a component of a module's `p`, perhaps.
  void refuse_component(const sem::Scope& scope, const std::string& name) const {
    for (std::size_t n = name.find('_'); n != std::string::npos; n = name.find('_', n + 1)) {
      const std::string whole = name.substr(0, n);
      const sem::Symbol* symbol = scope.FindSymbol(fp::CharBlock{whole});
      if (!symbol || !symbol->GetUltimate().has<sem::ObjectEntityDetails>()) continue;
      const auto type = ev::DynamicType::From(symbol->GetUltimate());
      if (type && type->category() == TypeCategory::Derived && !in_routine(symbol->GetUltimate()))
        unsupported(routine_.at, fmt::format("the variable `{}` of a module", whole),
                    "pass it as an argument");
    }
  }
  static bool in_routine(const sem::Symbol& s) {
    return s.owner().kind() != sem::Scope::Kind::Module;
  }

  void add(const sem::Symbol& local, const sem::Symbol& s) {
    const Span at = places_.of(s.name());
    Variable v;
    v.name = local.name().ToString();
    v.at = at;
    v.dummy = sem::IsDummy(s) || sem::IsFunctionResult(s);
    v.result = sem::IsFunctionResult(s);
    const auto type = ev::DynamicType::From(s);
    if (!type) return;
    if (s.test(sem::Symbol::Flag::InCommonBlock) || sem::FindCommonBlockContaining(s))
      unsupported(at, fmt::format("`{}` in a common block", v.name));
    if (sem::FindEquivalenceSet(s)) unsupported(at, fmt::format("`{}` in `equivalence`", v.name));
    if (s.attrs().test(sem::Attr::OPTIONAL))
      unsupported(at, fmt::format("the optional argument `{}`", v.name));
    v.value = s.attrs().test(sem::Attr::VALUE);
    if (s.attrs().test(sem::Attr::INTENT_IN)) v.intent = Intent::In;
    if (s.attrs().test(sem::Attr::INTENT_OUT) || sem::IsFunctionResult(s)) v.intent = Intent::Out;
    if (s.attrs().test(sem::Attr::INTENT_INOUT)) v.intent = Intent::InOut;
    v.constant = sem::IsNamedConstant(s);
    v.saved = sem::IsSaved(s);
    if (!in_routine(s) && !v.constant)
      unsupported(at, fmt::format("the variable `{}` of a module", v.name),
                  "pass it as an argument");
    object(std::move(v), s, at);
  }

  /// A variable or a component, whose bounds come before those that `v` has.
  void object(Variable v, const sem::Symbol& s, const Span& at) {
    if (sem::IsPointer(s)) unsupported(at, fmt::format("the pointer `{}`", v.name));
    if (sem::IsAllocatable(s)) unsupported(at, fmt::format("the allocatable `{}`", v.name));
    const auto type = ev::DynamicType::From(s);
    const auto& details = s.get<sem::ObjectEntityDetails>();
    if (details.IsAssumedRank()) unsupported(at, fmt::format("the assumed rank of `{}`", v.name));
    std::vector<Bounds> outer = std::move(v.bounds);
    v.bounds.clear();
    for (const sem::ShapeSpec& spec : details.shape()) v.bounds.push_back(bounds(spec, v, at));
    v.bounds.insert(v.bounds.end(), outer.begin(), outer.end());
    v.array = !v.bounds.empty();
    if (type->category() == TypeCategory::Derived) return components(v, *type, at);
    v.type = type_of(*type, v.name, at);
    v.logical = type->category() == TypeCategory::Logical;
    v.character = type->category() == TypeCategory::Character;
    if (const auto& init = details.init()) {
      if (s.owner().IsDerivedType())
        unsupported(at, fmt::format("the initial value of the component `{}`", v.name));
      v.initial = to_elements(*init, at);
      if (!v.constant && !v.initial.empty() && sem::IsSaved(s)) v.constant = true;
    }
    const std::string name = v.name;
    if (!routine_.variables.emplace(name, std::move(v)).second)
      unsupported(at, fmt::format("`{}` beside a variable of the same name", name));
  }

  void components(const Variable& whole, const ev::DynamicType& type, const Span& at) {
    if (type.IsPolymorphic()) unsupported(at, fmt::format("the polymorphic `{}`", whole.name));
    if (whole.constant || whole.result)
      unsupported(at, fmt::format("`{}` of a derived type", whole.name));
    for (const sem::Symbol* c : components_of(type.GetDerivedTypeSpec(), at)) {
      Variable v = whole;
      v.name += "_" + c->name().ToString();
      if (whole.dummy) v.component = component(whole, type, *c);
      object(std::move(v), *c, at);
    }
  }

  static std::shared_ptr<const FortranComponent> component(const Variable& whole,
                                                           const ev::DynamicType& type,
                                                           const sem::Symbol& c) {
    FortranComponent out;
    if (whole.component) {
      out = *whole.component;
    } else {
      const sem::Symbol& declared = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
      out.of = whole.name;
      out.array = whole.array;
      out.type = declared.name().ToString();
      if (declared.owner().kind() == sem::Scope::Kind::Module)
        out.module = DEREF(declared.owner().symbol()).name().ToString();
    }
    out.path += "%" + c.name().ToString();
    out.nested = out.nested || (whole.array && !c.get<sem::ObjectEntityDetails>().shape().empty());
    return std::make_shared<const FortranComponent>(std::move(out));
  }

  static Type type_of(const ev::DynamicType& t, const std::string& name, const Span& at) {
    if (const auto type = numeric_type(t)) return *type;
    if (t.category() == TypeCategory::Logical)
      if (const auto type = numeric_type(ev::DynamicType(TypeCategory::Integer, t.kind())))
        return *type;
    if (t.category() == TypeCategory::Character && t.kind() == 1 && t.knownLength() == 1)
      return Scalar::I8;
    unsupported(at, fmt::format("`{}` of type {}", name, t.AsFortran()));
  }

  Bounds bounds(const sem::ShapeSpec& spec, const Variable& v, const Span& at) {
    const auto one = [&](const sem::Bound& b) -> Expr {
      const auto& e = b.GetExplicit();
      return e ? to_index(*e, at) : Expr();
    };
    Bounds out{one(spec.lbound()), one(spec.ubound())};
    if (!v.dummy || !spec.ubound().isColon()) return out;
    Variable extent;  // of an assumed shape
    extent.name = extent_name(v.name, static_cast<int>(v.bounds.size()));
    extent.at = at;
    extent.type = Scalar::I32;
    extent.dummy = extent.value = extent.extent = true;
    extent.intent = Intent::In;
    const Expr n = var(extent.name, at);
    out.upper = out.lower ? index_add({out.lower, n, lit(-1)}) : n;
    if (!routine_.variables.emplace(extent.name, extent).second)
      unsupported(at, fmt::format("`{}` beside a variable `{}`", v.name, extent.name));
    return out;
  }

  const Places& places_;
  Routine& routine_;
};

/// All names in a routine's expressions.
std::set<std::string> names_in(const Routine& r) {
  std::set<std::string> out;
  const auto note = [&](const Expr& e) {
    if (e) collect_reads(e, out);
  };
  const std::function<void(const Body&)> visit = [&](const Body& b) {
    for (Statement s : b) {
      expressions(s, note);
      for (const auto* inner : bodies(s)) visit(**inner);
    }
  };
  visit(r.body);
  for (const auto& [name, v] : r.variables)
    for (const Bounds& b : v.bounds) note(b.lower), note(b.upper);
  return out;
}

}  // namespace

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

void read_hints(const fp::SpecificationPart& part, const Places& places,
                std::vector<WithoutEffect>& unheeded) {
  using Hint = Fortran::common::Indirection<fp::CompilerDirective>;
  for (const Hint& h : std::get<std::list<Hint>>(part.t))
    unheeded.push_back({places.of(h.value().source), {}});
  for (const fp::DeclarationConstruct& d : std::get<std::list<fp::DeclarationConstruct>>(part.t))
    if (const auto* s = std::get_if<fp::SpecificationConstruct>(&d.u))
      if (const auto* h = std::get_if<Hint>(&s->u))
        unheeded.push_back({places.of(h->value().source), {}});
}

void read_declarations(const sem::Scope& scope, const Places& places, Routine& routine) {
  Declarations(places, routine).read(scope);
}

void read_declarations_around(const sem::Scope& scope, const Places& places, Routine& routine) {
  for (const std::string& name : names_in(routine))
    if (!routine.variables.count(name)) Declarations(places, routine).read_around(scope, name);
}

std::vector<const sem::Symbol*> components_of(const sem::DerivedTypeSpec& type, const Span& at) {
  const auto& details = type.typeSymbol().get<sem::DerivedTypeDetails>();
  if (!type.parameters().empty())
    unsupported(at, fmt::format("the parameters of `{}`", type.name().ToString()));
  if (type.typeSymbol().GetParentTypeSpec())
    unsupported(at, fmt::format("`{}`, which extends a type,", type.name().ToString()));
  std::vector<const sem::Symbol*> out;
  for (const sem::SourceName& name : details.componentNames()) {
    const auto it = DEREF(type.scope()).find(name);
    if (it == DEREF(type.scope()).end()) throw InternalError("a component has no symbol");
    if (!it->second->has<sem::ObjectEntityDetails>())
      unsupported(at, fmt::format("the component `{}`", name.ToString()));
    out.push_back(&*it->second);
  }
  return out;
}

}  // namespace moonloop::fortran
