#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_boxes.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/flang_wrong.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/unknown_modules.h"
#include "frontends/fortran/uses.h"

// Flang's symbols as variables.
namespace moonloop::fortran {
namespace {

class Declarations {
 public:
  Declarations(const Places& places, Routine& routine) : places_(places), routine_(routine) {}

  /// Fails with all that is wrong with arguments; of other variables it becomes known.
  void read(const sem::Scope& scope) {
    std::vector<Diagnostic> errors;
    for (const auto& [name, symbol] : scope) {
      const sem::Symbol& s = symbol->GetUltimate();
      if (&s.owner() != &scope) continue;
      if (is_address(s)) address(s);
      if (!s.has<sem::ObjectEntityDetails>()) continue;
      const bool boxed = can_be_boxed(s);
      boxable_ = boxed && !is_callers_record(s);
      std::set<std::string> before;
      const std::size_t defaults = routine_.defaults.size();
      if (boxed)
        for (const auto& [own, v] : routine_.variables) before.insert(own);
      try {
        add(*symbol, s);
      } catch (const Error& e) {
        const auto type = ev::DynamicType::From(s);
        const bool known = !boxed && (sem::IsDummy(s) || sem::IsFunctionResult(s) ||
                                      (type && type->category() == TypeCategory::Derived));
        routine_.defaults.resize(defaults);
        if (boxed)
          std::erase_if(routine_.variables, [&](const auto& v) { return !before.count(v.first); });
        std::vector<Diagnostic>& to = known ? errors : routine_.unreadable[variable_name(*symbol)];
        to.insert(to.end(), e.diagnostics().begin(), e.diagnostics().end());
      }
    }
    if (!errors.empty()) throw Error(std::move(errors));
  }

  /// A variable of the routine's own for the record that a function gives.
  void record(const std::string& name, const ev::DynamicType& type, std::vector<Bounds> bounds,
              const Span& at) {
    Variable v;
    v.name = name;
    v.at = at;
    v.array = !bounds.empty();
    v.bounds = std::move(bounds);
    const std::size_t defaults = routine_.defaults.size();
    components(v, type, at);
    routine_.defaults.resize(defaults);  // the function has set them
  }

  /// Variables that keep their values from call to call, and that the routine assigns, are the
  /// interface's.
  void keep_saved(const sem::Scope& scope, const std::set<std::string>& assigned) {
    std::map<std::string, const sem::Symbol*> own;  // by their names here; components have none
    collect_own(scope, own);
    for (auto& [name, v] : routine_.variables) {
      if (!v.saved || v.outer || v.dummy || !assigned.count(name)) continue;
      const auto it = own.find(name);
      if (it == own.end()) continue;
      const sem::Symbol& s = *it->second;
      FortranOuter o;
      o.kind = FortranOuter::Kind::Saved;
      o.module = routine_.name;
      o.name = "moonloop_" + name;
      if (is_address(s)) {
        o.declarations = "integer(8), save :: " + o.name + " = 0\n";
        v.outer = std::make_shared<const FortranOuter>(std::move(o));
        v.dummy = true;
        v.constant = false;
        v.initial.clear();
        continue;
      }
      std::string type = declaration(s, v.at);
      type.insert(type.find(" :: "), ", save");
      const auto& init = s.get<sem::ObjectEntityDetails>().init();
      if (init && init->Rank() > 1)
        unsupported(v.at, fmt::format("the initial value of `{}`", name));
      o.declarations = type + o.name + shape_of(s, v.at) +
                       (init ? " = " + init->AsFortran() : std::string()) + "\n";
      o.per_thread = s.test(sem::Symbol::Flag::OmpThreadprivate);
      if (o.per_thread) o.declarations += "!$omp threadprivate(" + o.name + ")\n";
      v.outer = std::make_shared<const FortranOuter>(std::move(o));
      v.dummy = true;
      v.constant = v.kept = false;
      v.initial.clear();
    }
  }

  /// The names of scopes around: variables and constants of modules and of a main program. Of a
  /// derived type, the components among them.
  void read_around(const sem::Scope& scope, const std::set<std::string>& names) {
    wanted_ = &names;
    boxable_ = false;
    for (const std::string& name : names) {
      if (routine_.variables.count(name)) continue;
      const sem::Symbol* symbol = scope.FindSymbol(fp::CharBlock{name});
      if (symbol && !has_its_value(symbol->GetUltimate()))
        around(*symbol);
      else
        around_component(scope, name);
    }
  }

 private:
  /// The variables of a routine's scope, and of the `block`s in it.
  static void collect_own(const sem::Scope& scope, std::map<std::string, const sem::Symbol*>& out) {
    for (const auto& [name, symbol] : scope) out.emplace(variable_name(*symbol), &*symbol);
    for (const sem::Scope& inner : scope.children())
      if (inner.kind() == sem::Scope::Kind::BlockConstruct ||
          inner.kind() == sem::Scope::Kind::OtherConstruct)
        collect_own(inner, out);
  }

  /// The interface by whose name an argument is declared, if that is known around the routine: a
  /// pure one may have pure arguments only, which `external` does not say. Else empty.
  static std::string named_interface(const sem::Symbol& s) {
    const auto* d = s.detailsIf<sem::ProcEntityDetails>();
    const sem::Symbol* i = d ? d->procInterface() : nullptr;
    if (!i) return {};
    for (const sem::Scope* around = &s.owner(); !around->IsGlobal(); around = &around->parent())
      if (around != &s.owner() && around == &i->owner()) return i->name().ToString();
    return {};
  }

  /// A procedure by its address: an argument, or a pointer of the routine's own.
  void address(const sem::Symbol& s) {
    Variable v;
    v.name = s.name().ToString();
    v.at = places_.of(s.name());
    v.type = Scalar::I64;
    if (sem::IsDummy(s)) {
      v.dummy = v.value = true;
      v.intent = Intent::In;
      v.procedure = procedure_type(s, v.at);
      v.procedure += v.procedure.empty() ? "external" : ", external";
      if (s.attrs().test(sem::Attr::OPTIONAL)) {
        v.procedure =
            procedure_type(s, v.at).empty() ? "procedure(), optional" : v.procedure + ", optional";
        may_be_there(v);
      }
      if (const std::string named = routine_.home.pure ? named_interface(s) : ""; !named.empty())
        v.procedure =
            "procedure(" + named + ")" + (s.attrs().test(sem::Attr::OPTIONAL) ? ", optional" : "");
    } else if (sem::IsSaved(s)) {
      const auto& init = s.get<sem::ProcEntityDetails>().init();
      if (init && *init) unsupported(v.at, fmt::format("the initial value of `{}`", v.name));
      v.saved = v.constant = true;
      v.initial = {lit(0)};
    }
    routine_.variables.emplace(v.name, std::move(v));
  }

  /// Whether the value of a constant is in the places of its name. Parts of texts are not known.
  static bool has_its_value(const sem::Symbol& s) {
    const auto* object = s.detailsIf<sem::ObjectEntityDetails>();
    return object && sem::IsNamedConstant(s) && s.Rank() == 0 && object->init() && !is_text(s);
  }

  void around(const sem::Symbol& symbol) {
    const sem::Symbol& s = symbol.GetUltimate();
    const auto kind = s.owner().kind();
    if (s.has<sem::ObjectEntityDetails>() &&
        (kind == sem::Scope::Kind::Module || kind == sem::Scope::Kind::MainProgram))
      add(symbol, s);
  }

  /// `p_x` is a component of a module's `p`, perhaps.
  void around_component(const sem::Scope& scope, const std::string& name) {
    for (std::size_t n = name.find('_'); n != std::string::npos; n = name.find('_', n + 1)) {
      const std::string whole = name.substr(0, n);
      const sem::Symbol* symbol = scope.FindSymbol(fp::CharBlock{whole});
      const auto type = symbol && symbol->GetUltimate().has<sem::ObjectEntityDetails>()
                            ? ev::DynamicType::From(symbol->GetUltimate())
                            : std::nullopt;
      if (!type || type->category() != TypeCategory::Derived) continue;
      around(*symbol);
      if (routine_.variables.count(name)) return;
    }
  }

  void add(const sem::Symbol& local, const sem::Symbol& s) {
    const Span at = places_.of(s.name());
    Variable v;
    v.name = variable_name(local);
    v.at = at;
    v.dummy = sem::IsDummy(s) || sem::IsFunctionResult(s);
    v.result = sem::IsFunctionResult(s);
    const auto type = ev::DynamicType::From(s);
    if (!type) return;
    if (sem::FindEquivalenceSet(s)) storage(v, s, at);
    v.value = s.attrs().test(sem::Attr::VALUE);
    if (s.attrs().test(sem::Attr::OPTIONAL)) optional(v, s, at);
    if (s.attrs().test(sem::Attr::INTENT_IN)) v.intent = Intent::In;
    if (s.attrs().test(sem::Attr::INTENT_OUT) || sem::IsFunctionResult(s)) v.intent = Intent::Out;
    if (s.attrs().test(sem::Attr::INTENT_INOUT)) v.intent = Intent::InOut;
    v.constant = sem::IsNamedConstant(s);
    v.saved = sem::IsSaved(s);
    v.target = s.attrs().test(sem::Attr::TARGET) || sem::FindEquivalenceSet(s);
    if (s.test(sem::Symbol::Flag::Implicit) && routine_.unknown && !v.dummy)
      if (const std::string module = routine_.unknown->of(v.name); !module.empty())
        fail("fortran", at, "`{}`, which nothing declares, may be in the module `{}`", v.name,
             module);
    if (!v.constant) {
      v.outer = outer(s, at);
      v.hidden = v.outer && s.attrs().test(sem::Attr::PRIVATE);
      v.guarded = v.outer && s.attrs().test(sem::Attr::PROTECTED);
      v.dummy = v.dummy || v.outer;
    }
    object(std::move(v), s, at);
  }

  /// All that share memory with a variable, by way of others too.
  static std::set<const sem::Symbol*> equivalent_to(const sem::Symbol& s) {
    std::set<const sem::Symbol*> out{&s};
    for (std::size_t known = 0; known != out.size();) {
      known = out.size();
      for (const sem::EquivalenceSet& set : s.owner().equivalenceSets())
        if (std::any_of(set.begin(), set.end(),
                        [&](const auto& o) { return out.count(&o.symbol.GetUltimate()); }))
          for (const sem::EquivalenceObject& o : set) out.insert(&o.symbol.GetUltimate());
    }
    return out;
  }

  /// Variables of one type, which begin at whole elements of each other, are parts of an array.
  void storage(Variable& v, const sem::Symbol& s, const Span& at) {
    const auto own = ev::DynamicType::From(s);
    const auto type = own ? numeric_type(*own) : std::nullopt;
    const auto refuse = [&] { unsupported(at, fmt::format("`{}` in `equivalence`", v.name)); };
    if (!type) refuse();
    const std::set<const sem::Symbol*> all = equivalent_to(s);
    const sem::Symbol* first = &s;
    std::size_t end = 0;
    for (const sem::Symbol* other : all) {
      const auto* object = other->detailsIf<sem::ObjectEntityDetails>();
      const auto their = ev::DynamicType::From(*other);
      if (!object || object->init() || !their || numeric_type(*their) != type ||
          sem::IsSaved(*other) || sem::FindCommonBlockContaining(*other) ||
          other->test(sem::Symbol::Flag::InDataStmt))
        refuse();
      if (other->offset() < first->offset() ||
          (other->offset() == first->offset() && other->name() < first->name()))
        first = other;
      end = std::max(end, other->offset() + other->size());
    }
    const auto size = static_cast<std::size_t>(type->size());
    if ((s.offset() - first->offset()) % size != 0 || s.size() == 0) refuse();
    Variable whole;
    whole.name = first->name().ToString() + "_storage";
    while (s.owner().FindSymbol(fp::CharBlock{whole.name})) whole.name += "_";
    whole.at = at;
    whole.type = *type;
    whole.array = true;
    const auto elements = static_cast<std::int64_t>((end - first->offset()) / size);
    whole.bounds.push_back({Expr(), lit(elements)});
    v.storage = whole.name;
    v.before = static_cast<std::int64_t>((s.offset() - first->offset()) / size);
    routine_.variables.emplace(whole.name, std::move(whole));
  }

  /// An argument says whether it is there. The interface has an address to pass, if any.
  void optional(Variable& v, const sem::Symbol& s, const Span& at) {
    const auto type = ev::DynamicType::From(s);
    if (type->category() == TypeCategory::Derived &&
        (sem::IsAllocatable(s) || (sem::IsPointer(s) && s.Rank() > 0)))
      unsupported(at, fmt::format("the optional argument `{}` of this kind", v.name));
    may_be_there(v);
  }
  void may_be_there(Variable& v) {
    v.optional = true;
    Variable there;
    there.name = present_name(v.name);
    there.at = v.at;
    there.type = Scalar::I32;
    there.dummy = there.value = there.logical = true;
    there.intent = Intent::In;
    there.present_of = v.name;
    add_own(there, v);
  }

  /// An argument of ours about `v`.
  Expr add_own(const Variable& own, const Variable& v) {
    if (!routine_.variables.emplace(own.name, own).second)
      unsupported(v.at, fmt::format("`{}` beside a variable `{}`", v.name, own.name));
    return var(own.name, v.at);
  }

  /// What a pointer points to has the shape that is known where it is passed. Its intent is about
  /// where it points to.
  void pointer(Variable& v, const sem::Symbol& s, const Span& at) const {
    const auto type = ev::DynamicType::From(s);
    const bool derived = type->category() == TypeCategory::Derived;
    const bool array = s.Rank() > 0 || !v.bounds.empty();
    if (v.result || !v.bounds.empty() || (v.dummy && derived && array) ||
        (!v.dummy && type->category() == TypeCategory::Logical))
      unsupported(at, fmt::format("the pointer `{}`", shown(v)));
    v.pointer = true;
    v.saved = false;
    v.intent = Intent::Unknown;
    v.pointer_attributes = ", pointer";
    if (s.attrs().test(sem::Attr::INTENT_IN)) v.pointer_attributes += ", intent(in)";
    if (s.attrs().test(sem::Attr::INTENT_OUT)) v.pointer_attributes += ", intent(out)";
    if (s.attrs().test(sem::Attr::INTENT_INOUT)) v.pointer_attributes += ", intent(inout)";
  }

  /// Where a variable is that is the routine's own only by use; null for its own.
  std::shared_ptr<const FortranOuter> outer(const sem::Symbol& s, const Span& at) const {
    FortranOuter o;
    o.name = s.name().ToString();
    if (const sem::Symbol* block = sem::FindCommonBlockContaining(s)) {
      o = common_variable(*block, s, at);
    } else if (s.owner().kind() == sem::Scope::Kind::Module) {
      o.module = DEREF(s.owner().symbol()).name().ToString();
    } else if (s.owner().kind() == sem::Scope::Kind::MainProgram) {
      o.kind = FortranOuter::Kind::Program;
    } else {
      return nullptr;
    }
    o.per_thread |= s.GetUltimate().test(sem::Symbol::Flag::OmpThreadprivate);
    return std::make_shared<const FortranOuter>(std::move(o));
  }

  /// The variable as one of lines that declare all of its block, which each routine may do in its
  /// own way.
  FortranOuter common_variable(const sem::Symbol& block, const sem::Symbol& s,
                               const Span& at) const {
    FortranOuter o;
    o.kind = FortranOuter::Kind::Common;
    o.module = block.name().ToString();
    std::string names;
    int number = 0;
    for (const auto& object : block.get<sem::CommonBlockDetails>().objects()) {
      const std::string name = fmt::format("moonloop_{}_{}", o.module, ++number);
      if (&*object == &s) o.name = name;
      o.declarations += declaration(*object, at) + name + shape_of(*object, at) + "\n";
      names += (names.empty() ? "" : ", ") + name;
    }
    o.declarations += "common /" + o.module + "/ " + names + "\n";
    o.per_thread = block.test(sem::Symbol::Flag::OmpThreadprivate) ||
                   s.test(sem::Symbol::Flag::OmpThreadprivate);
    if (o.per_thread) o.declarations += "!$omp threadprivate(/" + o.module + "/)\n";
    return o;
  }

  /// `real(8) :: ` of a variable whose type and shape are constants.
  static std::string declaration(const sem::Symbol& s, const Span& at) {
    const auto type = ev::DynamicType::From(s);
    if (!type || type->category() == TypeCategory::Derived || sem::IsPointer(s))
      unsupported(at, fmt::format("`{}`, in a common block or with `save`,", s.name().ToString()));
    std::string out = type->AsFortran();
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out + " :: ";
  }
  static std::string shape_of(const sem::Symbol& s, const Span& at) {
    std::string out;
    for (const sem::ShapeSpec& axis : s.get<sem::ObjectEntityDetails>().shape()) {
      const auto lower = ev::ToInt64(axis.lbound().GetExplicit()),
                 upper = ev::ToInt64(axis.ubound().GetExplicit());
      if (!lower || !upper) unsupported(at, fmt::format("the shape of `{}`", s.name().ToString()));
      out += fmt::format("{}{}:{}", out.empty() ? "(" : ", ", *lower, *upper);
    }
    return out.empty() ? out : out + ")";
  }

  /// A variable or a component, whose bounds come before those that `v` has.
  void object(Variable v, const sem::Symbol& s, const Span& at) {
    if (v.outer && !is_wanted(v.name)) return;
    if (routine_.wrong && routine_.wrong->has(s))
      fail("fortran", at, "the declaration of `{}` has an error", shown(v));
    if (sem::IsPointer(s)) pointer(v, s, at);
    const auto type = ev::DynamicType::From(s);
    const auto& details = s.get<sem::ObjectEntityDetails>();
    if (type->IsUnlimitedPolymorphic() || type->IsAssumedType())
      unsupported(at, fmt::format("`{}` of any type", shown(v)));
    if (details.IsAssumedRank()) unsupported(at, fmt::format("the assumed rank of `{}`", shown(v)));
    v.allocatable = sem::IsAllocatable(s);
    if (v.allocatable &&
        (details.shape().empty() || !v.bounds.empty() || v.result || (!v.dummy && v.saved)))
      unsupported(at, fmt::format("the allocatable `{}`", shown(v)));
    std::vector<Bounds> outer = std::move(v.bounds);
    v.bounds.clear();
    if (is_text(s)) letters(*type, s, v, at);
    for (const sem::ShapeSpec& spec : details.shape()) v.bounds.push_back(bounds(spec, v, at));
    if (sem::IsNamedConstant(s) && details.init()) implied_shape(v, *details.init());
    v.bounds.insert(v.bounds.end(), outer.begin(), outer.end());
    v.array = !v.bounds.empty();
    if (type->category() == TypeCategory::Derived && v.constant && constants_.empty()) {
      if (!details.init()) unsupported(at, fmt::format("`{}` of a derived type", shown(v)));
      constants_ = constant_values(*details.init(), at);
      std::reverse(constants_.begin(), constants_.end());
      components(v, *type, at);
      return constants_.clear();
    }
    if (type->category() == TypeCategory::Derived) {
      const bool has_value = s.owner().IsDerivedType() && details.init() && has_defaults(v);
      if (!has_value || !defaults_.empty()) return components(v, *type, at);
      defaults_ = default_values(*details.init(), at);  // those that its type has do not count
      std::reverse(defaults_.begin(), defaults_.end());
      components(v, *type, at);
      return defaults_.clear();
    }
    v.type = v.text ? Type(Scalar::I8) : type_of(*type, shown(v), at);
    v.logical = type->category() == TypeCategory::Logical;
    v.character = type->category() == TypeCategory::Character;
    if (!constants_.empty()) {
      v.initial = std::move(constants_.back());
      constants_.pop_back();
    } else if (!defaults_.empty()) {
      if (v.pointer) unsupported(at, fmt::format("the initial value of `{}`", shown(v)));
      give_default(v, defaults_.back().value, defaults_.back().rank, defaults_.back().rank, at);
      defaults_.pop_back();
    } else if (const auto& init = details.init(); init && !v.outer && !v.pointer) {
      const bool is_component = s.owner().IsDerivedType();
      if (!is_component) v.initial = to_elements(*init, at);
      if (is_component && has_defaults(v))
        give_default(v, to_expr(*init, at), init->Rank(), s.Rank(), at);
      if (!v.constant && !v.initial.empty() && sem::IsSaved(s)) v.constant = true;
    } else if (init && v.pointer && !v.dummy && s.owner().IsDerivedType()) {
      routine_.defaults.push_back({at, PointerAssignment{v.name, Expr(), {}}});
    }
    if (v.logical && v.saved && !v.outer && !sem::IsNamedConstant(s)) {  // as it is kept
      v.kept = true;
      for (Expr& e : v.initial)
        if (const auto* b = e.as<BoolLit>()) e = lit(b->value ? 1 : 0);
    }
    if (v.constant && sem::IsNamedConstant(s) && v.initial.empty() && !details.init())
      fail("fortran", at, "the value of the constant `{}` is not known", v.name);
    if (s.test(sem::Symbol::Flag::InDataStmt) && !v.outer && v.initial.empty())
      unsupported(at, fmt::format("the initial values of `{}`, in a file with errors,", v.name));
    const std::string name = v.name;
    if (!routine_.variables.emplace(name, std::move(v)).second)
      unsupported(at, fmt::format("`{}` beside a variable of the same name", name));
  }

  /// `parameter :: a(*) = [...]`: the axes are as long as those of the value.
  static void implied_shape(Variable& v, const SomeExpr& init) {
    const auto shape = ev::GetShape(init);
    const std::size_t letters = v.bounds.size() - static_cast<std::size_t>(init.Rank());
    for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
      Bounds& b = v.bounds.at(letters + axis);
      const auto length = (*shape)[axis] ? ev::ToInt64(*(*shape)[axis]) : std::nullopt;
      if (!b.upper && length) b.upper = index_add({first_of(b), lit(*length - 1)});
    }
  }

  /// Whether a variable's components get the values that their type says: those of others have
  /// them, or are as the caller has them.
  static bool has_defaults(const Variable& v) {
    return !v.outer && (!v.dummy || v.intent == Intent::Out);
  }
  /// The value, an array's where it has a `rank`, of a component of these axes in each record.
  void give_default(const Variable& v, Expr value, int rank, int axes, const Span& at) {
    if (v.saved && !v.dummy)
      unsupported(at, fmt::format("the initial value of the component `{}`, which keeps its value,",
                                  shown(v)));
    if (v.component && v.component->polymorphic)
      unsupported(at, fmt::format("the initial value of the component `{}`, whose type may be "
                                  "another one,",
                                  shown(v)));
    const Expr place = var(v.name, at);
    const std::int64_t letters = v.text ? 1 : 0;
    const auto all = static_cast<std::int64_t>(v.bounds.size());
    if (rank > 0 && all > axes + letters && v.text)
      unsupported(at, fmt::format("the initial value of the component `{}`", shown(v)));
    if (rank > 0)
      for (std::int64_t axis = axes + 1; axis <= all; ++axis) {
        const auto bound = [&](const char* end) {
          return call(std::string(kBound) + end, {place, lit(axis)}, at);
        };
        const Expr records = length(bound("lbound"), bound("ubound"), 1);
        value = call(kArrays + std::string("spread"), {value, lit(axis), records}, at);
      }
    routine_.defaults.push_back({at, Assignment{place, value}});
  }

  /// Of outer variables only what the routine uses counts: itself, or components of it.
  bool is_wanted(const std::string& name) const {
    if (!wanted_) return true;
    const auto it = wanted_->lower_bound(name);
    if (it != wanted_->end() && *it == name) return true;
    return std::any_of(it, wanted_->end(),
                       [&](const std::string& n) { return n.starts_with(name + "_"); });
  }

  /// Those of `iso_c_binding`, and others, have components that Fortran has no names for.
  static void check_builtin(const Variable& v, const ev::DynamicType& type, const Span& at) {
    if (type.IsUnlimitedPolymorphic()) return;
    const sem::Symbol& s = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
    constexpr std::string_view kBuiltin = "__builtin_";
    const std::string name = s.name().ToString();
    if (name.starts_with(kBuiltin))
      unsupported(at, fmt::format("`{}` of type `{}`", shown(v), name.substr(kBuiltin.size())));
  }

  void components(const Variable& whole, const ev::DynamicType& type, const Span& at) {
    check_builtin(whole, type, at);
    if (type.IsPolymorphic() && !whole.dummy)
      unsupported(at, fmt::format("the polymorphic `{}`", shown(whole)));
    if ((whole.constant && constants_.empty()) || (whole.result && type.IsPolymorphic()))
      unsupported(at, fmt::format("`{}` of a derived type", shown(whole)));
    if (whole.optional && whole.pointer && whole.component)
      unsupported(at,
                  fmt::format("the pointer `{}`, a part of an optional argument,", shown(whole)));
    for (const sem::Symbol* c : components_of(type_of_record(type, at), at)) {
      Variable v = whole;
      v.name += "_" + c->name().ToString();
      v.written = (whole.written.empty() ? whole.name : whole.written) + "%" + c->name().ToString();
      if (!is_wanted(v.name) && whole.outer) continue;
      v.gives = whole.result || whole.gives;
      if (v.gives && sem::IsAllocatableOrPointer(*c))
        unsupported(at, fmt::format("the component `{}` of a function's result", shown(v)));
      if (leads_back(*c)) {  // no variables: there is no end of them
        if (boxable_) refuse_chain(v.written, at);
        continue;
      }
      if (v.ranks.empty()) v.ranks.push_back(whole.bounds.size());
      v.ranks.push_back(static_cast<std::size_t>(c->Rank()));
      if (whole.dummy) v.component = component(whole, type, *c, v.written, v.ranks);
      v.result = false;  // the routine gives it by an argument
      v.pointer_attributes.clear();
      object(std::move(v), *c, at);
    }
  }

  /// `(:)%part%x(:)` for `%part%x`.
  static std::string with_axes(const std::string& path, const std::vector<std::size_t>& ranks) {
    std::string out;
    std::size_t at = 0;
    for (const std::size_t axes : ranks) {
      for (std::size_t axis = 0; axis < axes; ++axis) out += axis > 0 ? ",:" : "(:";
      if (axes > 0) out += ")";
      const std::size_t next = std::min(path.find('%', at + 1), path.size());
      out += path.substr(at, next - at);
      at = next;
    }
    return out;
  }

  static std::shared_ptr<const FortranComponent> component(const Variable& whole,
                                                           const ev::DynamicType& type,
                                                           const sem::Symbol& c,
                                                           const std::string& path,
                                                           const std::vector<std::size_t>& ranks) {
    FortranComponent out;
    if (whole.component) {
      out = *whole.component;
    } else {
      const sem::Symbol& declared = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
      out.of = whole.name;
      out.array = whole.array;
      out.polymorphic = type.IsPolymorphic();
      out.pointer = whole.pointer_attributes;
      out.type = declared.name().ToString();
      if (declared.owner().kind() == sem::Scope::Kind::Module)
        out.module = DEREF(declared.owner().symbol()).name().ToString();
    }
    if (whole.outer) out.array = out.array || whole.array;
    out.path = path.substr(path.find('%'));
    out.nested = out.nested || (whole.array && !c.get<sem::ObjectEntityDetails>().shape().empty());
    if (out.nested && !whole.outer) out.path = with_axes(out.path, ranks);
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

  /// The first axis of texts. Where the caller knows how long they are, it says so.
  void letters(const ev::DynamicType& type, const sem::Symbol& s, Variable& v, const Span& at) {
    bool caller = type.charLengthParamValue() && type.charLengthParamValue()->isAssumed();
    auto n = type.GetCharLength();
    if (const auto& init = s.get<sem::ObjectEntityDetails>().init(); init && caller) {
      const auto* value = std::get_if<ev::Expr<ev::SomeCharacter>>(&init->u);
      if (value) n = value->LEN();
      caller = !n;
    }
    const bool gets_memory = v.allocatable && n && !v.dummy && !can_be_boxed(s);
    if (type.kind() != 1 || (!n && !caller) || (v.allocatable && !gets_memory) || v.pointer)
      unsupported(at, fmt::format("`{}` of type {} and of this kind", shown(v), type.AsFortran()));
    v.text = true;
    if (n && !caller) {
      v.bounds.push_back({Expr(), to_index(*n, at)});
      return;
    }
    if (!v.dummy || v.outer || v.component || v.result)
      unsupported(at, fmt::format("the length of `{}`, which its caller knows,", shown(v)));
    Variable extent;
    extent.at = at;
    extent.name = extent_name(v.name, 0);
    extent.type = Scalar::I32;
    extent.dummy = extent.value = extent.extent = true;
    extent.intent = Intent::In;
    v.bounds.push_back({Expr(), add_own(extent, v)});
  }

  Bounds bounds(const sem::ShapeSpec& spec, const Variable& v, const Span& at) {
    const auto one = [&](const sem::Bound& b) -> Expr {
      const auto& e = b.GetExplicit();
      return e ? to_index(*e, at) : Expr();
    };
    Bounds out{one(spec.lbound()), one(spec.ubound())};
    if (!v.dummy || !spec.ubound().isColon()) return out;
    Variable own;  // an argument about the axis
    own.at = at;
    own.type = Scalar::I32;
    own.dummy = own.value = true;
    own.intent = Intent::In;
    own.axis = static_cast<int>(v.bounds.size());
    own.outer = v.outer;
    own.component = v.outer ? v.component : nullptr;
    Variable extent = own;
    extent.name = extent_name(v.name, own.axis);
    extent.extent = true;
    const Expr n = add_own(extent, v);
    if (v.allocatable || v.pointer) {  // by whoever gave it memory
      own.name = lower_name(v.name, own.axis);
      own.lower_of = v.name;
      own.component = v.component;  // the name of an array of records
      out.lower = add_own(own, v);
    }
    out.upper = out.lower ? index_add({out.lower, n, lit(-1)}) : n;
    return out;
  }

  const Places& places_;
  Routine& routine_;
  const std::set<std::string>* wanted_ = nullptr;  // names in scopes around
  std::vector<Exprs> constants_;                   // of the components to come of a constant
  std::vector<DefaultValue> defaults_;             // of the components to come, the next one last
  bool boxable_ = false;                           // of the variable that is read: can_be_boxed
};

}  // namespace

namespace {

/// The variables that statements may assign.
std::set<std::string> assigned_in(const Body& body) {
  std::set<std::string> out;
  const auto place = [&](const Expr& e) {
    if (!e) return;
    const auto* test = e.as<Compare>();  // a logical one
    const Expr& p = test ? test->left : e;
    if (p.as<Var>() || p.as<Load>()) out.insert(written_name(p));
  };
  for (const Statement& s : body) {
    if (const auto* a = std::get_if<Assignment>(&s.what)) place(a->to);
    if (const auto* d = std::get_if<Do>(&s.what)) out.insert(d->variable);
    if (const auto* c = std::get_if<SubroutineCall>(&s.what))
      for (std::size_t n = 0; n < c->arguments.size(); ++n)
        if (may_change_argument(*c, n)) place(c->arguments[n]);
    expressions(s, [&](const Expr& e) {
      if (e)
        walk(e, [&](const Expr& x) {
          if (!(called(x, kFunction) + called(x, kArrayFunction) + called(x, kRecord)).empty())
            for (const Expr& a : x.as<Call>()->args) place(a);
          return true;
        });
    });
    for (const auto* inner : bodies(s)) out.merge(assigned_in(**inner));
  }
  return out;
}

}  // namespace

void read_hint(const fp::CompilerDirective& x, const Places& places, Routine& routine) {
  const Span at = places.of(x.source);
  if (std::holds_alternative<fp::CompilerDirective::IVDep>(x.u))
    routine.independent.push_back(at);
  else
    routine.without_effect.push_back({at, {}});
}

void read_hints(const fp::SpecificationPart& part, const Places& places, Routine& routine) {
  using Hint = Fortran::common::Indirection<fp::CompilerDirective>;
  for (const Hint& h : std::get<std::list<Hint>>(part.t)) read_hint(h.value(), places, routine);
  for (const fp::DeclarationConstruct& d : std::get<std::list<fp::DeclarationConstruct>>(part.t))
    if (const auto* s = std::get_if<fp::SpecificationConstruct>(&d.u))
      if (const auto* h = std::get_if<Hint>(&s->u)) read_hint(h->value(), places, routine);
}

void read_record(const std::string& name, const ev::DynamicType& type, std::vector<Bounds> bounds,
                 const Span& at, const Places& places, Routine& routine) {
  Declarations(places, routine).record(name, type, std::move(bounds), at);
}

void read_declarations(const sem::Scope& scope, const Places& places, Routine& routine) {
  Declarations(places, routine).read(scope);
}

void read_block_declarations(fp::CharBlock end, const sem::Scope& around, const Places& places,
                             Routine& routine,
                             std::map<std::string, std::set<std::string>>& names_in_bounds) {
  sem::Scope& scope = around.context().FindScope(end);
  if (scope.kind() != sem::Scope::Kind::BlockConstruct)
    throw InternalError("Flang has no scope of a `block`");
  std::set<std::string> before;
  for (const auto& [name, v] : routine.variables) before.insert(name);
  read_declarations(scope, places, routine);
  for (const auto& [name, v] : routine.variables) {
    if (before.count(name)) continue;
    for (const Bounds& b : v.bounds)
      for (const Expr& e : {b.lower, b.upper})
        if (e) collect_reads(e, names_in_bounds[name]);
  }
}

void read_declarations_around(const sem::Scope& scope, const Places& places, Routine& routine) {
  std::size_t known = 0;
  do {  // bounds have more names
    known = routine.variables.size();
    Declarations(places, routine).read_around(scope, names_in(routine));
  } while (known != routine.variables.size());
  Declarations(places, routine).keep_saved(scope, assigned_in(routine.body));
  do {  // of common blocks, and what is about the bounds of those that go
    known = routine.variables.size();
    const std::set<std::string> used = names_in(routine);
    std::erase_if(routine.variables,
                  [&](const auto& v) { return v.second.outer && !used.count(v.first); });
  } while (known != routine.variables.size());
}

}  // namespace moonloop::fortran
