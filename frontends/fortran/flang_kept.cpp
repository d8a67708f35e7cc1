#include "frontends/fortran/flang_moved.h"
#include "frontends/fortran/flang_record_arguments.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/flang_walk.h"
#include "frontends/fortran/procedures.h"

// Statements that stay Fortran: a routine of the interface has the statement as it is, with the
// variables that it names as arguments. Variables and procedures of modules that cannot be
// arguments are known there by their names.
namespace moonloop::fortran {
namespace {

/// What a generic interface for the operator of an expression may be called; nothing where it has
/// none, or one that has a name in the source.
std::vector<std::string> names_of_operator(const fp::Expr& e) {
  using E = fp::Expr;
  const auto names = [](const auto&... all) {
    return std::vector<std::string>{fmt::format("operator({})", all)...};
  };
  return std::visit(
      [&](const auto& x) -> std::vector<std::string> {
        using T = std::decay_t<decltype(x)>;
        constexpr auto is = []<typename... U>() { return (std::is_same_v<T, U> || ...); };
        if constexpr (is.template operator()<E::Add, E::UnaryPlus>()) return names("+");
        if constexpr (is.template operator()<E::Subtract, E::Negate>()) return names("-");
        if constexpr (is.template operator()<E::Multiply>()) return names("*");
        if constexpr (is.template operator()<E::Divide>()) return names("/");
        if constexpr (is.template operator()<E::Power>()) return names("**");
        if constexpr (is.template operator()<E::Concat>()) return names("//");
        if constexpr (is.template operator()<E::LT>()) return names("<", ".lt.");
        if constexpr (is.template operator()<E::LE>()) return names("<=", ".le.");
        if constexpr (is.template operator()<E::EQ>()) return names("==", ".eq.");
        if constexpr (is.template operator()<E::NE>()) return names("/=", ".ne.");
        if constexpr (is.template operator()<E::GE>()) return names(">=", ".ge.");
        if constexpr (is.template operator()<E::GT>()) return names(">", ".gt.");
        if constexpr (is.template operator()<E::NOT>()) return names(".not.");
        if constexpr (is.template operator()<E::AND>()) return names(".and.");
        if constexpr (is.template operator()<E::OR>()) return names(".or.");
        if constexpr (is.template operator()<E::EQV>()) return names(".eqv.");
        if constexpr (is.template operator()<E::NEQV>()) return names(".neqv.");
        return {};
      },
      e.u);
}

/// The names in a statement, and what they are there.
struct NamesInStatement : TreeVisitor {
  bool before(const TreeNode& n) override {
    bool inside = true;
    n.when<fp::AllocateObject, fp::Call, fp::Format>([&](const auto& x) { inside = pre(x); });
    return inside;
  }
  void after(const TreeNode& n) override {
    n.when<fp::Name, fp::LoopControl::Bounds, fp::Variable, fp::IoImpliedDoControl, fp::Call,
           fp::ErrLabel, fp::EndLabel, fp::EorLabel, fp::AltReturnSpec, fp::Expr,
           fp::AssignmentStmt>([&](const auto& x) { post(x); });
  }
  void post(const fp::Expr& e) {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    note_record(typed);
    const auto* ref = typed ? ev::UnwrapProcedureRef(*typed) : nullptr;
    if (const sem::Symbol* s = ref ? ref->proc().GetSymbol() : nullptr)
      if (std::vector<std::string> names = names_of_operator(e); !names.empty())
        operations.emplace_back(s, std::move(names));
  }
  void post(const fp::AssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    const auto* ref = a ? std::get_if<ev::ProcedureRef>(&a->u) : nullptr;
    if (const sem::Symbol* by = ref ? ref->proc().GetSymbol() : nullptr)
      operations.emplace_back(by, std::vector<std::string>{"assignment(=)"});
  }
  void post(const fp::Name& n) {
    if (!n.symbol) return;
    all.push_back(&n);
    if (changing > 0) passed.push_back(&n.symbol->GetUltimate());
    if (changing > 1) nested.push_back(&n.symbol->GetUltimate());
  }
  void post(const fp::LoopControl::Bounds& b) {
    if (const fp::Name& n = b.name.thing; n.symbol) counters.push_back(&n.symbol->GetUltimate());
  }
  void post(const fp::Variable& v) {
    assigned.push_back(&v);
    note_record(sem::GetExpr(nullptr, v));
  }
  void post(const fp::IoImpliedDoControl& c) {
    if (const fp::Name& n = c.name.thing.thing; n.symbol)
      counters.push_back(&n.symbol->GetUltimate());
  }
  bool pre(const fp::AllocateObject& o) {
    objects.push_back(&o);
    return true;
  }
  bool pre(const fp::Call& c) {
    if (const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
        name && name->ToString() == "associated" && name->symbol &&
        name->symbol->attrs().test(sem::Attr::INTRINSIC))
      for (const fp::ActualArgSpec& a : std::get<std::list<fp::ActualArgSpec>>(c.t))
        if (const auto* e = std::get_if<Fortran::common::Indirection<fp::Expr>>(
                &std::get<fp::ActualArg>(a.t).u))
          targets.push_back(&e->value());
    asks_present = asks_present || is_present(c);
    changing += may_change_arguments(c);
    return true;
  }
  void post(const fp::Call& c) { changing -= may_change_arguments(c); }
  bool pre(const fp::Format& f) {
    if (const auto* label = std::get_if<fp::Label>(&f.u)) format = *label;
    return true;
  }
  void post(const fp::ErrLabel& x) { labels.push_back(x.v); }
  void post(const fp::EndLabel& x) { labels.push_back(x.v); }
  void post(const fp::EorLabel& x) { labels.push_back(x.v); }
  void post(const fp::AltReturnSpec& x) { labels.push_back(x.v); }

  /// Which components of a record are used.
  void note_record(const SomeExpr* e) {
    if (!e || !ev::IsVariable(*e)) return;
    const auto symbols = ev::GetSymbolVector(*e);
    if (symbols.empty()) return;
    std::vector<const sem::Symbol*> path;
    for (std::size_t i = 1; i < symbols.size(); ++i) path.push_back(&symbols[i]->GetUltimate());
    records[&symbols.front()->GetUltimate()].insert(std::move(path));
  }

  using Path = std::vector<const sem::Symbol*>;
  std::map<const sem::Symbol*, std::set<Path>> records;
  std::vector<const fp::Name*> all;
  std::vector<const fp::Variable*> assigned;
  std::vector<const sem::Symbol*> counters;  // of loops
  std::vector<const sem::Symbol*> passed;    // to what may change them, and in subscripts there
  std::vector<const sem::Symbol*> nested;    // the same to functions in a call's arguments
  std::vector<const fp::AllocateObject*> objects;
  std::vector<const fp::Expr*> targets;  // and pointers, which `associated` compares
  /// The program's own, by the procedures that do them, and what they may be called.
  std::vector<std::pair<const sem::Symbol*, std::vector<std::string>>> operations;
  bool asks_present = false;
  std::optional<fp::Label> format;
  std::list<fp::Label> labels;  // which the statement may go to, in its order

 private:
  static int may_change_arguments(const fp::Call& c) {
    const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
    const sem::Symbol* s = name && name->symbol ? &name->symbol->GetUltimate() : nullptr;
    const bool input = s && sem::IsFunction(*s) &&
                       (s->attrs().test(sem::Attr::INTRINSIC) || sem::IsPureProcedure(*s));
    return input ? 0 : 1;
  }
  int changing = 0;  // calls around
};

/// What stays that has no keyword.
constexpr std::string_view kAssignment = "assignment", kValue = "value", kConstruct = "construct";

class Keeping : public RecordArguments {
 public:
  Keeping(std::string_view what, const Span& at, const Moved& moved)
      : RecordArguments(what, at), moved_(moved) {
    output_.what = what;
  }

  template <typename T>
  OutputStatement statement(const T& s, std::string text) {
    const NamesInStatement names = read_names(s);
    if (names.labels.empty()) return done(std::move(text), names.format);
    return with_labels(std::move(text), names);
  }

  /// The value as the last argument, of this type; of a condition 1 or 0.
  OutputStatement value(const fp::Expr& e, const std::string& type, bool logical) {
    const NamesInStatement names = read_names(e);
    std::string to = "value";
    while (named_.contains(to) || used_names_.contains(to)) to += "_";
    named_.insert(to);
    add(type, Expr(), "", to);
    may_change(arguments_.size() - 1);
    first_ = to + " = ";
    const std::string text = e.source.ToString();
    return done(logical ? "merge(1, 0, " + text + ")" : text, names.format);
  }

  /// What a pointer points at is the variable itself, no argument.
  void points_at(const fp::PointerAssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    const sem::Symbol* target = a ? base_of(a->rhs) : nullptr;
    if (!target) return;
    if (const auto it = moved_.boxes.find(target); it != moved_.boxes.end() && !it->second.pointer)
      fail(fmt::format("a pointer to `{}`, which Fortran keeps,", it->second.what.name));
    by_name_.insert(target);
  }

  /// The statement is a `block` of this scope, whose variables are its own.
  void has_block(const sem::Scope* block) { block_ = block; }

  /// What the callee may change: all that is passed and not an input of it.
  OutputStatement call(const fp::CallStmt& s, std::string text) {
    const ev::ProcedureRef& ref = *s.typedCall;
    const sem::Symbol* callee = ref.proc().GetSymbol();
    const sem::Symbol* interface = callee ? interface_symbol(callee->GetUltimate()) : nullptr;
    const auto* details = interface ? interface->detailsIf<sem::SubprogramDetails>() : nullptr;
    const ev::SpecificIntrinsic* intrinsic = ref.proc().GetSpecificIntrinsic();
    output_.calls = !intrinsic;
    if (intrinsic && intrinsic->name.find("c_f_") != std::string::npos)
      fail(fmt::format("the call of `{}`", intrinsic->name));
    const bool moves = intrinsic && intrinsic->name == "move_alloc";
    std::size_t number = 0;
    for (const auto& a : ref.arguments()) {
      const std::size_t n = number++;
      const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
      if (!value || !ev::IsVariable(*value)) continue;
      const sem::Symbol* whole = ev::UnwrapWholeSymbolDataRef(*value);
      const auto box = moved_.boxes.find(whole ? &whole->GetUltimate() : nullptr);
      if (box != moved_.boxes.end() && box->second.what.optional && !intrinsic && details &&
          n < details->dummyArgs().size() && details->dummyArgs()[n] &&
          details->dummyArgs()[n]->attrs().test(sem::Attr::OPTIONAL))
        fail(fmt::format("`{}`, which may not be there here and in `{}`,", box->second.what.name,
                         callee->name().ToString()));
      if (moves && n < 2) object(*base_of(*value), value);
      const sem::Symbol* dummy =
          details && n < details->dummyArgs().size() ? details->dummyArgs()[n] : nullptr;
      const bool input = dummy && dummy->attrs().test(sem::Attr::INTENT_IN);
      if (!input) assigned_.insert(base_of(*value));
      if (dummy && !moved_.procedures->may_move_dummies(*callee)) kept_.insert(base_of(*value));
      if (whether_there(*value, callee, n, at_)) lacking_.insert(base_of(*value));
      if (dummy && (sem::IsAllocatable(*dummy) || sem::IsPointer(*dummy)))
        by_name_.insert(base_of(*value));
    }
    return statement(s, std::move(text));
  }

  /// A pointer of the routine's own gets the address of a procedure.
  OutputStatement procedure_pointer(const fp::PointerAssignmentStmt& s,
                                    const sem::Symbol& pointer) {
    const auto& target = std::get<fp::Expr>(s.t);
    const NamesInStatement names = read_names(target);
    const std::string to = address_of(pointer.name().ToString());
    may_change(arguments_.size() - 1);
    output_.uses.insert("  use, intrinsic :: iso_c_binding, only: c_funloc\n");
    return done(fmt::format("{0} = transfer(c_funloc({1}), {0})", to, target.source.ToString()),
                names.format);
  }

 private:
  /// What declares a procedure's arguments; null for one that is only `external`.
  static const sem::Symbol* interface_symbol(const sem::Symbol& s) {
    const auto* p = s.detailsIf<sem::ProcEntityDetails>();
    if (!p) return &s;
    return p->procInterface() ? &p->procInterface()->GetUltimate() : nullptr;
  }

  /// The name of a new argument: the number that is a procedure's address.
  std::string address_of(const std::string& procedure) {
    std::string name = procedure + "_address";
    while (named_.contains(name) || used_names_.contains(name)) name += "_";
    named_.insert(name);
    return add("integer(8)", var(procedure, at_), "", name);
  }

  /// A procedure by its address, which a pointer of its name gets here.
  void procedure(const std::string& local, const sem::Symbol& s) {
    output_.calls = true;
    const std::string address = address_of(local);
    named_.insert(local);
    output_.uses.insert(
        "  use, intrinsic :: iso_c_binding, only: c_f_procpointer, c_null_funptr\n");
    const sem::Symbol* interface = interface_symbol(s);
    if (!interface) {
      constants_ += fmt::format("procedure({}), pointer :: {}\n  ", procedure_type(s, at_), local);
    } else {
      const std::string own = interface->name().ToString();
      if (holder_of(*interface).empty()) {
        const std::string text = moved_.procedures->interface_of(*interface);
        if (text.empty() || text.find("\nimport") != std::string::npos)
          fail(fmt::format("the interface of `{}` in `{}`", local, what_));
        constants_ += "interface\n  " + text + "\n  end interface\n  ";
        named_.insert(own);
      } else {
        use(*interface, own);
      }
      constants_ += interface == &s ? "pointer :: " + local + "\n  "
                                    : fmt::format("procedure({}), pointer :: {}\n  ", own, local);
    }
    before_ +=
        fmt::format("call c_f_procpointer(transfer({}, c_null_funptr), {})\n  ", address, local);
  }

  static const sem::Symbol* base_of(const SomeExpr& e) {
    const auto place = ev::ExtractDataRef(e, true, true);
    return place ? &place->GetFirstSymbol().GetUltimate() : nullptr;
  }

  template <typename T>
  NamesInStatement read_names(const T& s) {
    NamesInStatement names;
    walk(s, names);
    if (const auto known = moved_.procedures->of(own_effects(s)))
      effects_ = known->effects;
    else
      output_.calls = true;  // of anything
    for (const fp::Variable* v : names.assigned) assigned_.insert(base_of(typed(*v)));
    assigned_.insert(names.counters.begin(), names.counters.end());
    const auto& passed = what_ == "call" ? names.nested : names.passed;
    assigned_.insert(passed.begin(), passed.end());
    for (const fp::Name* n : names.all) words_.insert(n->ToString());
    keep_apart(words_);
    for (const fp::AllocateObject* o : names.objects) object(*o);
    records_ = names.records;
    asks_present_ = names.asks_present;
    for (const fp::Expr* e : names.targets)
      if (const SomeExpr* t = sem::GetExpr(nullptr, *e))
        if (const sem::Symbol* base = base_of(*t)) by_name_.insert(base);
    for (const fp::Name* n : names.all) note_moved(n->symbol->GetUltimate());
    for (const fp::Name* n : names.all) name(*n);
    for (const auto& [by, generic] : names.operations) operation(by->GetUltimate(), generic);
    for (const auto& [symbol, number] : numbers_)
      if (is_changed(*symbol)) may_change(number);
    return names;
  }

  void note_moved(const sem::Symbol& s) {
    const auto it = moved_.variables.find(&s);
    if (it == moved_.variables.end()) return;
    output_.moves.insert(it->second.begin(), it->second.end());
    if (s.owner().IsDerivedType()) return;
    by_name_.insert(&s);
    objects_.insert(&s);
  }

  /// The names of a module are known where it is used; private ones in it, and those of a main
  /// program in that.
  void use(const sem::Symbol& s, const std::string& local) {
    const std::string in = holder_of(s), own = s.name().ToString();
    if (in.empty()) fail(fmt::format("`{}`, which is not in a module, in `{}`", local, what_));
    if (in == kProgram || s.attrs().test(sem::Attr::PRIVATE) || s.owner().IsSubmodule() ||
        words_.contains(in))
      in_module(in);
    if (in != kProgram) {
      const std::string generic = own.starts_with(".") ? "operator(" + own + ")" : own;
      used_[in].insert(local == own || generic.starts_with("operator(") ? generic
                                                                        : local + " => " + own);
    }
    used_names_.insert(local);
  }

  /// One of a type needs no more than the type.
  void operation(const sem::Symbol& by, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const auto it = by.owner().find(fp::CharBlock{name});
          by.owner().IsModule() && it != by.owner().end())
        return use(it->second->GetUltimate(), name);
  }

  void in_module(const std::string& module) {
    if (!output_.module.empty() && output_.module != module)
      fail(
          fmt::format("names that only `{}` and `{}` know in `{}`", output_.module, module, what_));
    output_.module = module;
  }

  /// Gets other memory, or loses it.
  void object(const fp::AllocateObject& o) {
    const fp::Name* base = std::get_if<fp::Name>(&o.u);
    const auto* part = std::get_if<fp::StructureComponent>(&o.u);
    const SomeExpr* e = part ? sem::GetExpr(nullptr, o) : nullptr;
    if (!base && part) base = &fp::GetFirstName(*part);
    if (!base || !base->symbol || (part && !e)) throw InternalError("an object without a name");
    object(base->symbol->GetUltimate(), e);
  }

  /// The variable, or the component `e` of it.
  void object(const sem::Symbol& s, const SomeExpr* e) {
    if (moved_.boxes.contains(&s)) {
      changed_.insert(&s);
      return;
    }
    const std::string in = holder_of(s);
    if (in.empty()) fail(fmt::format("`{}` of other variables than the routine's own", what_));
    std::string moved = in + "::" + s.name().ToString();
    if (e) {
      const auto symbols = ev::GetSymbolVector(*e);
      for (std::size_t i = 1; i < symbols.size(); ++i) moved += "%" + symbols[i]->name().ToString();
    }
    output_.moves.insert(std::move(moved));
    by_name_.insert(&s);
    objects_.insert(&s);
  }

  void name(const fp::Name& n) { name(n.ToString(), *n.symbol); }

  void name(const std::string& local, const sem::Symbol& symbol) {
    const sem::Symbol& s = symbol.GetUltimate();
    if (!seen_.insert(&s).second) return;
    if (s.owner().IsDerivedType()) {
      const sem::Symbol* type = s.owner().symbol();
      if (s.attrs().test(sem::Attr::PRIVATE) && type)
        if (const std::string in = holder_of(*type); !in.empty()) in_module(in);
      return;
    }
    if (&s.owner() == block_) {  // it is declared there
      named_.insert(local);
      return;
    }
    if (s.attrs().test(sem::Attr::INTRINSIC) || is_extension(s)) return;
    if (s.has<sem::ObjectEntityDetails>()) return variable(local, symbol);
    if (const auto* group = s.detailsIf<sem::NamelistDetails>()) return namelist(local, *group);
    if (s.has<sem::SubprogramDetails>() || s.has<sem::GenericDetails>() ||
        s.has<sem::ProcEntityDetails>()) {
      if (is_address(s)) return procedure(local, s);
      if (sem::IsDummy(s)) fail(fmt::format("the dummy procedure `{}` in `{}`", local, what_));
      output_.calls = true;
      return is_external(s) ? external(local, s) : use(s, local);
    }
    if (s.has<sem::DerivedTypeDetails>()) return use(s, local);
    fail(fmt::format("`{}` in `{}`", local, what_));
  }

  /// In no module, so that its name is declared.
  bool is_external(const sem::Symbol& s) const {
    if (s.owner().IsModule() || s.owner().IsSubmodule() || sem::IsProcedurePointer(s) ||
        s.has<sem::GenericDetails>())
      return false;
    const auto* p = s.detailsIf<sem::SubprogramDetails>();
    return !p || s.owner().IsGlobal() || (p->isInterface() && is_in_another_file(s, at_));
  }

  void external(const std::string& name, const sem::Symbol& s) {
    std::string type;
    if (sem::IsFunction(s)) {
      const auto own = ev::DynamicType::From(s);
      const bool logical = own && own->category() == TypeCategory::Logical;
      const auto number = own && !logical ? numeric_type(*own) : std::nullopt;
      if ((!number && !logical) || s.Rank() > 0)
        fail(fmt::format("the function `{}` of this type in `{}`", name, what_));
      type =
          (number ? type_in_fortran(*number, at_) : fmt::format("logical({})", own->kind())) + ", ";
    }
    constants_ += type + "external :: " + name + "\n  ";
    named_.insert(name);
  }

  /// A group of the same variables, any of which a `read` may change.
  void namelist(const std::string& local, const sem::NamelistDetails& group) {
    std::string names;
    for (const sem::Symbol& object : group.objects()) {
      if (what_ == "read") assigned_.insert(&object.GetUltimate());
      name(object.name().ToString(), object);
      names += (names.empty() ? "" : ", ") + object.name().ToString();
    }
    groups_ += fmt::format("namelist /{}/ {}\n  ", local, names);
  }

  void variable(const std::string& local, const sem::Symbol& symbol) {
    const sem::Symbol& s = symbol.GetUltimate();
    const auto type = ev::DynamicType::From(s);
    if (sem::IsNamedConstant(s)) return constant(local, s);
    if (const auto kind = s.owner().kind();
        s.Rank() == 0 && type && type->category() == TypeCategory::Integer &&
        (kind == sem::Scope::Kind::Forall || kind == sem::Scope::Kind::ImpliedDos)) {
      inner_.emplace(local, fmt::format("integer({})", type->kind()));
      return;
    }
    if (const auto it = moved_.boxes.find(&s); it != moved_.boxes.end()) {
      *it->second.changed = *it->second.changed || assigned_.contains(&s) || changed_.contains(&s);
      return box(it->second);
    }
    if (what_ == "if" && sem::IsAllocatable(s)) by_name_.insert(&s);  // which it asks `allocated`
    if (by_name_.count(&s) || (type && type->category() == TypeCategory::Derived)) {
      const std::string in = holder_of(s);
      if (in.empty() && !by_name_.count(&s) && can_be_put_together(s))
        return record_of(local, symbol, *type);
      if (in.empty())
        fail(fmt::format("`{}`, which is {} and not a module's, in `{}`", local,
                         by_name_.count(&s) ? "a pointer or allocatable" : "of a derived type",
                         what_));
      use(s, local);
      const bool array = !type || type->category() != TypeCategory::Derived;
      if (!objects_.count(&s) || !array) output_.accesses.insert(in + "::" + s.name().ToString());
      return;
    }
    const bool optional = s.attrs().test(sem::Attr::OPTIONAL);
    if (optional && (sem::IsAllocatable(s) || sem::IsPointer(s) || is_text(s)))
      fail(fmt::format("the optional argument `{}` in `{}`", local, what_));
    const std::optional<SomeExpr> value = ev::AsGenericExpr(symbol);
    if (!value) throw InternalError("a variable is an expression");
    named_.insert(local);
    argument(*value, sem::IsAssumedSizeArray(s) ? Bounds::Open : Bounds::Source, local);
    numbers_.emplace(&s, arguments_.size() - 1);
    if (optional || lacking_.contains(&s)) {  // the address is none where it is not there
      std::string& declared = output_.declarations.back();
      declared.insert(declared.find(" :: "), ", optional");
    }
  }

  void record_of(const std::string& local, const sem::Symbol& symbol, const ev::DynamicType& type) {
    const sem::Symbol& declared = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
    named_.insert(local);
    use(declared, declared.name().ToString());
    constants_ += record(local, symbol);
  }

  /// It is taken out of its box before the statement, and put back after it.
  void box(const Box& b) {
    if (b.what.optional && asks_present_)
      fail(fmt::format("`present` beside `{}`, which Fortran keeps, in `{}`", b.what.name, what_));
    named_.insert(b.what.name);
    const std::string address = add("integer(8)", var(b.address, at_), "", b.address);
    if (!b.of_caller) may_change(arguments_.size() - 1);
    named_.insert(address);
    if (b.what.is_private || words_.contains(b.what.module)) in_module(b.what.module);
    const BoxLines lines = lines_of(b, address, output_.module);
    constants_ += lines.declarations;
    before_ += lines.before;
    after_ += lines.after;
    output_.uses.insert(lines.uses.begin(), lines.uses.end());
  }

  void constant(const std::string& local, const sem::Symbol& s) {
    const auto& init = s.get<sem::ObjectEntityDetails>().init();
    const auto type = ev::DynamicType::From(s);
    const bool derived = type && type->category() == TypeCategory::Derived;
    if (derived && !holder_of(s).empty()) return use(s, local);
    if (!init || !type || init->Rank() > 1 || derived)
      fail(fmt::format("the constant `{}` in `{}`", local, what_));
    std::string shape;
    for (const sem::ShapeSpec& axis : s.get<sem::ObjectEntityDetails>().shape()) {
      const auto lower = ev::ToInt64(axis.lbound().GetExplicit()),
                 upper = ev::ToInt64(axis.ubound().GetExplicit());
      const bool implied = axis.ubound().isStar();  // as long as its value
      if (!lower || (!upper && !implied))
        fail(fmt::format("the constant `{}` in `{}`", local, what_));
      shape = fmt::format("({}:{})", *lower, implied ? "*" : std::to_string(*upper));
    }
    constants_ +=
        type->AsFortran() + ", parameter :: " + local + shape + " = " + init->AsFortran() + "\n  ";
  }

  /// The labels are in the routine of the interface too, which then says to which one of them, in
  /// their order and from 1, the statement went.
  OutputStatement with_labels(std::string text, const NamesInStatement& names) {
    std::string way = "way";
    while (named_.contains(way)) way += "_";
    named_.insert(way);
    add("integer(4)", Expr(), "", way);
    may_change(arguments_.size() - 1);
    first_ = way + " = 0\n  ";
    OutputStatement out = done(std::move(text), names.format);
    std::string& s = out.output->statement;
    std::set<fp::Label> seen;
    for (const fp::Label label : names.labels) {
      out.labels.push_back(label);
      if (seen.insert(label).second)
        s += fmt::format("\n  return\n{} {} = {}{}", label, way, out.labels.size(), after_);
    }
    return out;
  }

  OutputStatement done(std::string text, const std::optional<fp::Label>& format) {
    check_names();
    for (const auto& [name, type] : inner_)
      if (!named_.contains(name)) constants_ += type + " :: " + name + "\n  ";
    for (const auto& [module, names] : used_) {
      if (module == output_.module) continue;
      for (const std::string& n : names)
        output_.uses.insert("  use " + module + ", only: " + n + "\n");
    }
    std::erase_if(output_.uses, [&](const std::string& u) {  // of the types of boxes
      return u.starts_with("  use " + output_.module + ", only: ") && u.find("=>") == u.npos;
    });
    text.erase(0, text.find_first_not_of("0123456789 \t"));  // its own label
    // Fixed form has no blanks, which free form needs here.
    if (const std::size_t n = what_.size(); what_ != kAssignment && what_ != kValue &&
                                            what_ != kConstruct && text.starts_with(what_) &&
                                            text.size() > n && text[n] != ' ' && text[n] != '(')
      text.insert(n, " ");
    OutputStatement out;
    output_.statement = constants_ + groups_ + before_ + first_ + std::move(text) + after_;
    out.format = format;
    out.place = std::string::npos;
    out.output = std::make_shared<Output>(std::move(output_));
    out.call = {"a statement in Fortran", std::move(arguments_), {}, out.output};
    out.call.effects = effects_;
    return out;
  }

  std::set<const sem::Symbol*> by_name_, objects_, seen_;
  std::set<const sem::Symbol*> lacking_;  // without memory they are not there for a callee
  std::set<const sem::Symbol*> changed_;  // in boxes, which get other memory
  std::shared_ptr<const Effects> effects_;
  std::map<const sem::Symbol*, std::size_t> numbers_;  // of arguments, from 0
  std::map<std::string, std::set<std::string>> used_;  // names by module
  std::set<std::string> used_names_;                   // as they are in the statement
  std::set<std::string> words_;                        // all names there, none of them a module's
  bool asks_present_ = false;
  const sem::Scope* block_ = nullptr;  // a whole `block`
  const Moved& moved_;
  std::string constants_, groups_, first_;  // before the statement
};

/// Arrays that elements of arrays have each for itself are no parts of one.
void check_memory(const SomeExpr& e, const Span& at) {
  bool in_array = false;
  for (const sem::Symbol& s : ev::GetSymbolVector(e)) {
    if (in_array && (sem::IsAllocatable(s) || sem::IsPointer(s)))
      unsupported(at,
                  fmt::format("the allocatable `{}` of elements of an array", s.name().ToString()));
    in_array = in_array || s.Rank() > 0;
  }
}

/// Whether the callee's argument is a pointer, or may have some as its components.
bool is_pointer_there(const sem::Symbol& callee, std::size_t number) {
  const auto* d = callee.GetUltimate().detailsIf<sem::SubprogramDetails>();
  const sem::Symbol* dummy = d && number < d->dummyArgs().size() ? d->dummyArgs()[number] : nullptr;
  const auto type = dummy ? ev::DynamicType::From(*dummy) : std::nullopt;
  return dummy && (sem::IsPointer(*dummy) || (type && type->category() == TypeCategory::Derived));
}

/// `out` gets the labels of alternate returns, and which arguments may not be there.
SubroutineCall called_by(const ev::ProcedureRef& ref, const Span& at, OutputStatement& out) {
  const sem::Symbol* callee = ref.proc().GetSymbol();
  SubroutineCall x{procedure_name(ref.proc()), {}};
  if (!callee || ref.proc().GetSpecificIntrinsic() || sem::IsProcedurePointer(*callee) ||
      !(callee->GetUltimate().has<sem::ProcEntityDetails>() ||
        callee->GetUltimate().has<sem::SubprogramDetails>()))
    unsupported(at, fmt::format("the call of `{}`", x.name));
  // Fails where addresses are not enough.
  const bool elsewhere = is_in_another_file(*callee, at);
  if (sem::IsDummy(*callee)) x = {kThrough, {procedure_in(var(x.name, at), at)}};
  const bool each = callee->GetUltimate().attrs().test(sem::Attr::ELEMENTAL);
  std::size_t number = 0;
  for (const auto& a : ref.arguments()) {
    const std::size_t n = number++;
    if (a && a->isAlternateReturn()) {
      if (elsewhere) unsupported(at, "a label as an argument of a procedure of another file");
      out.labels.push_back(a->GetLabel());
      continue;
    }
    const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
    if (a && !value) unsupported(at, fmt::format("this argument of `{}`", x.name));
    if (a && ev::IsVariable(*value)) check_memory(*value, at);
    const Exprs given = a ? to_arguments(*value, at) : absent_argument(callee, n, at);
    x.own_axes.resize(x.arguments.size());
    if (const auto* d = each && value ? as_derived(*value) : nullptr; d && d->GetType())
      axes_of_components(type_of_record(*d->GetType(), at), 0, at, x.own_axes);
    if (elsewhere && given.size() != 1 && a)
      unsupported(at,
                  fmt::format("an argument of a derived type of `{}`", procedure_name(ref.proc())));
    if (const Expr there = value ? whether_there(*value, callee, n, at) : Expr())
      out.conditional.emplace_back(x.arguments.size(), there);
    if (is_pointer_there(*callee, n))
      for (std::size_t i = 0; i < given.size(); ++i) x.keeps_bounds.insert(x.arguments.size() + i);
    x.arguments.insert(x.arguments.end(), given.begin(), given.end());
    x.elemental = x.elemental || (value && value->Rank() > 0);
  }
  if (out.conditional.size() > 4)
    unsupported(at, fmt::format("the call of `{}` with more than four arguments that may have no "
                                "memory and are optional there",
                                x.name));
  if (!out.labels.empty()) x.arguments.emplace_back();  // says to which one to go
  x.elemental = x.elemental && each;
  x.own_axes.resize(x.elemental ? x.arguments.size() : 0);
  return x;
}

}  // namespace

OutputStatement read_kept(const fp::ActionStmt& s, std::string_view what, fp::CharBlock source,
                          const Span& at, const Moved& moved) {
  Keeping k(what, at, moved);
  if (const auto* c = std::get_if<Fortran::common::Indirection<fp::CallStmt>>(&s.u))
    return k.call(c->value(), source.ToString());
  if (const auto* p = std::get_if<Fortran::common::Indirection<fp::PointerAssignmentStmt>>(&s.u)) {
    if (const sem::Symbol* own = procedure_pointer_of(p->value()))
      return k.procedure_pointer(p->value(), *own);
    k.points_at(p->value());
  }
  return k.statement(s, source.ToString());
}

OutputStatement read_kept(const fp::ExecutableConstruct& c, fp::CharBlock source, const Span& at,
                          const Moved& moved, const sem::Scope* block) {
  std::string text;
  for (const char letter : source.ToString())
    text += letter == '\n' ? "\n  " : std::string(1, letter);
  Keeping k(kConstruct, at, moved);
  k.has_block(block);
  return k.statement(c, std::move(text));
}

KeptValue read_kept_value(const fp::Expr& e, const Span& at, const Moved& moved) {
  const SomeExpr* typed = sem::GetExpr(nullptr, e);
  const auto type = typed && typed->Rank() == 0 ? typed->GetType() : std::nullopt;
  const bool logical = type && type->category() == TypeCategory::Logical;
  const std::optional<Type> number = !type     ? std::nullopt
                                     : logical ? std::optional(Type(moonloop::Scalar::I32))
                                               : numeric_type(*type);
  if (!number) unsupported(at, "a value of this type that Fortran computes");
  const std::string name = logical ? "integer(4)" : type_in_fortran(*number, at);
  return {Keeping(kValue, at, moved).value(e, name, logical), *number, logical};
}

OutputStatement read_call(const fp::CallStmt& s, const fp::ActionStmt& whole, fp::CharBlock source,
                          const Span& at, const Moved& moved) {
  if (!s.typedCall) moonloop::fail("fortran", at, "Flang gives this call no type");
  std::optional<OutputStatement> kept;
  std::vector<Diagnostic> why_not;
  try {
    kept = read_kept(whole, "call", source, at, moved);
  } catch (const Error& e) { why_not = e.diagnostics(); }
  const sem::Symbol* callee = s.typedCall->proc().GetSymbol();
  if (callee && is_extension(*callee)) {
    if (kept) return std::move(*kept);
    throw Error(std::move(why_not));
  }
  try {
    OutputStatement out;
    out.call = called_by(*s.typedCall, at, out);
    if (const auto known = moved.procedures->of(own_effects(s))) out.call.effects = known->effects;
    if (kept) out.call.otherwise.push_back(std::move(kept->call));
    return out;
  } catch (const Error& e) {
    if (kept) return std::move(*kept);
    std::vector<Diagnostic> errors = e.diagnostics();
    for (const Diagnostic& d : why_not) errors.front().notes.push_back({d.where.at, d.text});
    throw Error(std::move(errors));
  }
}

namespace {

template <typename S>
OutputStatement shown_or_kept(const S& s, const fp::ActionStmt& whole, std::string_view what,
                              fp::CharBlock source, const Span& at, const Moved& moved) {
  try {
    return read_output(s, at);
  } catch (const Error& e) {
    try {
      return read_kept(whole, what, source, at, moved);
    } catch (const Error&) { throw Error(e.diagnostics()); }
  }
}

}  // namespace

std::optional<OutputStatement> read_write(const fp::WriteStmt& s, const fp::ActionStmt& whole,
                                          fp::CharBlock source, const Span& at, bool skip_output,
                                          const Moved& moved) {
  const bool assigns = assigns_variables(s), shows = !writes_into_text(s);
  if (skip_output && shows && assigns) unsupported(at, "a `write` that assigns variables");
  if (skip_output && shows) return std::nullopt;
  if (assigns || uses(whole, moved)) return read_kept(whole, "write", source, at, moved);
  return shown_or_kept(s, whole, "write", source, at, moved);
}

OutputStatement read_print(const fp::PrintStmt& s, const fp::ActionStmt& whole,
                           fp::CharBlock source, const Span& at, const Moved& moved) {
  if (uses(whole, moved)) return read_kept(whole, "print", source, at, moved);
  return shown_or_kept(s, whole, "print", source, at, moved);
}

}  // namespace moonloop::fortran
