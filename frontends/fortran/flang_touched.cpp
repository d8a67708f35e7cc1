#include "frontends/fortran/flang_effects.h"
#include "frontends/fortran/flang_walk.h"

// What a part of a text does itself. Where Fortran lets a statement give memory to something, or
// take it, that this does not see, generated code writes to memory that is not a variable's any
// more: what is not understood is unknown.
namespace moonloop::fortran {
namespace {

bool is_held(const sem::Symbol& s) {
  return s.owner().kind() == sem::Scope::Kind::Module ||
         s.owner().kind() == sem::Scope::Kind::MainProgram;
}

std::string path_of(const ev::SymbolVector& symbols) {
  const sem::Symbol& base = symbols.front()->GetUltimate();
  std::string out = holder_of(base) + "::" + base.name().ToString();
  for (std::size_t i = 1; i < symbols.size(); ++i) out += "%" + symbols[i]->name().ToString();
  return out;
}

/// The record that a variable is, or an array's elements; null for others.
const sem::DerivedTypeSpec* record_type(const sem::Symbol& s) {
  const sem::DeclTypeSpec* type = s.GetType();
  return type ? type->AsDerived() : nullptr;
}

bool has_parts_that_move(const sem::Symbol& s) {
  const sem::DerivedTypeSpec* type = record_type(s);
  return type && sem::FindAllocatableOrPointerDirectComponent(*type);
}

/// Whether a record's type says how to assign it.
bool defines_assignment(const sem::DerivedTypeSpec& type) {
  const sem::Scope* scope = type.typeSymbol().scope();
  return scope && std::any_of(scope->begin(), scope->end(), [](const auto& name_and_symbol) {
           const auto* g = name_and_symbol.second->template detailsIf<sem::GenericDetails>();
           return g && g->kind().IsAssignment();
         });
}

/// A part of a record whose assignment runs a procedure.
const sem::Symbol* assigned_by_procedure(const sem::DerivedTypeSpec& type) {
  for (const sem::Symbol& part : sem::PotentialComponentIterator(type))
    if (const sem::DerivedTypeSpec* own = record_type(part); own && defines_assignment(*own))
      return &part;
  return nullptr;
}

/// Objects whose type is known when the program runs, and which other types' procedures may end.
bool may_run_finals(const sem::Symbol& s) {
  const auto ends = [](const sem::Symbol& x) {
    return sem::IsPolymorphic(x) && sem::IsAllocatableOrPointer(x);
  };
  if (sem::HasImpureFinal(s) || ends(s)) return true;
  if (sem::IsPolymorphic(s) && s.attrs().test(sem::Attr::INTENT_OUT)) return true;
  const sem::DerivedTypeSpec* type = record_type(s);
  if (!type) return false;
  for (const sem::Symbol& part : sem::PotentialComponentIterator(*type))
    if (ends(part)) return true;
  return false;
}

bool is_derived(const SomeExpr& e) {
  const auto type = e.GetType();
  return type && type->category() == TypeCategory::Derived;
}

/// Intrinsic subroutines that take allocated variables as they take others.
bool leaves_memory(const std::string& intrinsic) {
  for (const char* one :
       {"cpu_time", "date_and_time", "mvbits", "random_number", "random_seed", "system_clock"})
    if (intrinsic == one) return true;
  return false;
}

/// The procedures that a name may call.
void add_procedures(const sem::Symbol& s, std::set<const sem::Symbol*>& out) {
  if (const auto* g = s.detailsIf<sem::GenericDetails>()) {
    for (const sem::Symbol& one : g->specificProcs()) add_procedures(one.GetUltimate(), out);
    if (g->specific()) add_procedures(g->specific()->GetUltimate(), out);
  } else {
    out.insert(&s);
  }
}

/// The name that a call calls; null for others.
const sem::Symbol* callee_of(const fp::Call& c) {
  const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
  return name && name->symbol ? &name->symbol->GetUltimate() : nullptr;
}

/// Whether the argument of a call, at this place or of this name, stays as it is.
bool is_input(const sem::Symbol& callee, const std::optional<fp::Keyword>& name,
              std::size_t place) {
  const auto* d = callee.detailsIf<sem::SubprogramDetails>();
  if (!d) return false;
  const auto& dummies = d->dummyArgs();
  if (!name)
    return place < dummies.size() && dummies[place] &&
           dummies[place]->attrs().test(sem::Attr::INTENT_IN);
  return std::any_of(dummies.begin(), dummies.end(), [&](const sem::Symbol* dummy) {
    return dummy && dummy->name() == name->v.source && dummy->attrs().test(sem::Attr::INTENT_IN);
  });
}

/// Visits a tree.
class Finder : public TreeVisitor {
 public:
  explicit Finder(OwnEffects& out) : out_(out) {}

  bool before(const TreeNode& n) override {
    bool inside = true;
    n.when<fp::WhereStmt, fp::WhereConstruct, fp::Expr>([&](const auto& x) { inside = pre(x); });
    return inside;
  }
  void after(const TreeNode& n) override {
    n.when<fp::Name, fp::EntryStmt, fp::Variable, fp::LoopControl::Bounds, fp::IoImpliedDoControl,
           fp::AssignStmt, fp::WhereStmt, fp::WhereConstruct, fp::AllocateObject, fp::PointerObject,
           fp::PointerAssignmentStmt, fp::AssignmentStmt, fp::OutputItem, fp::InputItem, fp::Call,
           fp::Expr>([&](const auto& x) { post(x); });
  }

  void post(const fp::Name& n) {
    const sem::Symbol* s = n.symbol ? &n.symbol->GetUltimate() : nullptr;
    if (s && s->has<sem::ObjectEntityDetails>()) variable(*s);
    if (const auto* g = s ? s->detailsIf<sem::NamelistDetails>() : nullptr) group(*g);
  }
  void post(const fp::EntryStmt& e) { entries.push_back(&std::get<fp::Name>(e.t)); }
  void post(const fp::Variable& v) {
    const SomeExpr* e = sem::GetExpr(nullptr, v);
    if (e)
      changed(*e);
    else
      out_.unknown = true;
  }
  void post(const fp::LoopControl::Bounds& b) { counts(b.name.thing); }
  void post(const fp::IoImpliedDoControl& c) { counts(c.name.thing.thing); }
  void post(const fp::AssignStmt& s) { counts(std::get<fp::Name>(s.t)); }
  bool pre(const fp::WhereStmt&) { return ++masked_ > 0; }
  void post(const fp::WhereStmt&) { --masked_; }
  bool pre(const fp::WhereConstruct&) { return ++masked_ > 0; }
  void post(const fp::WhereConstruct&) { --masked_; }
  void post(const fp::AllocateObject& o) {
    const auto* name = std::get_if<fp::Name>(&o.u);
    if (name && name->symbol)
      moved({name->symbol->GetUltimate()});
    else
      moved(sem::GetExpr(nullptr, o));
  }
  void post(const fp::PointerObject& o) { moved(sem::GetExpr(nullptr, o)); }
  void post(const fp::PointerAssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    moved(a ? &a->lhs : nullptr);
  }
  void post(const fp::AssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    if (!a) {
      out_.unknown = true;
    } else if (const auto* defined = std::get_if<ev::ProcedureRef>(&a->u)) {
      OwnEffects::Passed passed;
      if (const sem::Symbol* f = defined->proc().GetSymbol()) {
        called(f->GetUltimate());
        add_procedures(f->GetUltimate(), passed.callees);
      } else {
        out_.unknown = true;
      }
      for (const auto& given : defined->arguments())
        if (const SomeExpr* e = given ? given->UnwrapExpr() : nullptr) pass(*e, passed);
      out_.passed.push_back(std::move(passed));
    } else {
      assigned(a->lhs, a->rhs);
    }
  }
  void post(const fp::OutputItem& i) {
    const auto* e = std::get_if<fp::Expr>(&i.u);
    transferred(e ? sem::GetExpr(nullptr, *e) : nullptr);
  }
  void post(const fp::InputItem& i) {
    const auto* v = std::get_if<fp::Variable>(&i.u);
    transferred(v ? sem::GetExpr(nullptr, *v) : nullptr);
  }
  void post(const fp::Call& c) {
    const sem::Symbol* callee = callee_of(c);
    const bool intrinsic = callee && callee->attrs().test(sem::Attr::INTRINSIC);
    const bool reads =
        callee && sem::IsFunction(*callee) && (intrinsic || sem::IsPureProcedure(*callee));
    OwnEffects::Passed passed;
    std::size_t number = 0;
    for (const fp::ActualArgSpec& a : std::get<std::list<fp::ActualArgSpec>>(c.t)) {
      const auto& given = std::get<fp::ActualArg>(a.t).u;
      const bool input =
          callee && is_input(*callee, std::get<std::optional<fp::Keyword>>(a.t), number);
      ++number;
      if (std::holds_alternative<fp::AltReturnSpec>(given)) continue;
      const auto* e = std::get_if<Fortran::common::Indirection<fp::Expr>>(&given);
      const SomeExpr* typed = e ? sem::GetExpr(nullptr, e->value()) : nullptr;
      if (!typed) out_.unknown = true;  // such as an address
      if (!typed || !ev::IsVariable(*typed)) continue;
      if (!reads && !input) changed(*typed);
      pass(*typed, passed);
    }
    if (!callee) {
      out_.unknown = true;
    } else if (!intrinsic) {
      called(*callee);
      add_procedures(*callee, passed.callees);
      out_.passed.push_back(std::move(passed));
    } else if (!sem::IsFunction(*callee) && !leaves_memory(callee->name().ToString())) {
      for (const ev::SymbolVector& symbols : passed.given) moved(symbols);
    }
  }
  /// Functions, operators that a program defines, and procedures that are given to others.
  bool pre(const fp::Expr& e) {
    if (depth_++ > 0) return true;
    if (const SomeExpr* typed = sem::GetExpr(nullptr, e))
      for (const sem::Symbol& s : ev::CollectSymbols(*typed))
        if (sem::IsProcedure(s)) called(s.GetUltimate());
    return true;
  }
  void post(const fp::Expr&) { --depth_; }

  std::vector<const fp::Name*> entries;

 private:
  void counts(const fp::Name& n) {
    if (n.symbol) changed({n.symbol->GetUltimate()});
  }

  /// A procedure that is called, or given to one that may call it.
  void called(const sem::Symbol& s) {
    std::set<const sem::Symbol*> all;
    add_procedures(s, all);
    for (const sem::Symbol* one : all) called_one(*one);
  }

  void called_one(const sem::Symbol& s) {
    const auto* p = s.detailsIf<sem::SubprogramDetails>();
    const bool outside = p ? p->isInterface() : s.has<sem::ProcEntityDetails>();
    if ((p && p->stmtFunction()) || s.attrs().test(sem::Attr::INTRINSIC)) return;
    if (p && !outside)
      out_.calls.insert(&s);
    else if (!outside || sem::IsDummy(s) || sem::IsProcedurePointer(s) ||
             s.attrs().test(sem::Attr::BIND_C) || sem::IsSeparateModuleProcedureInterface(&s))
      out_.unknown = true;  // such as one that the type says, of C's name, or a submodule's
    else
      out_.externals.insert(s.name().ToString());
  }

  void group(const sem::NamelistDetails& g) {
    for (const sem::Symbol& one : g.objects()) {
      const sem::Symbol& object = one.GetUltimate();
      variable(object), changed({object});
      if (record_type(object)) out_.unknown = true;  // as where it is transferred
    }
  }

  void variable(const sem::Symbol& s) {
    if (sem::IsNamedConstant(s)) return;
    if (sem::IsPointer(s) || shares_memory(s)) out_.follows = true;
    if (may_run_finals(s) || is_of_cray(s)) out_.unknown = true;
    if (s.owner().IsDerivedType())
      out_.names[&s];
    else if (is_held(s))
      out_.names[&s].insert(path_of({s}));
    // What it had is given back when the procedure begins.
    if (sem::IsDummy(s) && s.attrs().test(sem::Attr::INTENT_OUT) &&
        (sem::IsAllocatable(s) || has_parts_that_move(s)))
      out_.moves_dummies = true;
  }

  static bool shares_memory(const sem::Symbol& s) {
    return sem::FindEquivalenceSet(s) || sem::FindCommonBlockContaining(s);
  }
  static bool is_of_cray(const sem::Symbol& s) {
    return s.test(sem::Symbol::Flag::CrayPointer) || s.test(sem::Symbol::Flag::CrayPointee);
  }

  /// A program may define how records are read and written.
  void transferred(const SomeExpr* e) {
    if (e && is_derived(*e)) out_.unknown = true;
  }

  void assigned(const SomeExpr& to, const SomeExpr& value) {
    const auto symbols = ev::GetSymbolVector(to);
    if (symbols.empty()) return;
    const sem::Symbol& last = symbols.back()->GetUltimate();
    const auto type = to.GetType();
    if (type && type->IsUnlimitedPolymorphic()) {
      out_.unknown = true;
    } else if (moved_part(to)) {
      const sem::Symbol& base = symbols.front()->GetUltimate();
      if (is_held(base)) out_.records[&base].insert(path_of({base}));
      if (assigned_by_procedure(type->GetDerivedTypeSpec())) out_.unknown = true;
      if (has_parts_that_move(last)) moved(symbols);
    }
    // A scalar keeps the shape of an array that it is assigned to, and `where` of all arrays.
    if (masked_ == 0 && (value.Rank() > 0 || to.Rank() == 0) && whole_allocatable(to) &&
        !keeps_shape(to, value))
      moved(symbols);
  }

  void pass(const SomeExpr& e, OwnEffects::Passed& to) const {
    if (!ev::IsVariable(e)) return;
    const auto symbols = ev::GetSymbolVector(e);
    if (symbols.empty()) return;
    const sem::Symbol& last = symbols.back()->GetUltimate();
    if (sem::IsAllocatableOrPointer(last) || has_parts_that_move(last)) to.given.push_back(symbols);
  }

  void changed(const SomeExpr& e) { changed(ev::GetSymbolVector(e)); }
  void changed(const ev::SymbolVector& symbols) {
    if (symbols.empty()) return;
    for (const sem::Symbol& s : symbols)
      if (sem::IsPointer(s.GetUltimate())) out_.sets = true;
    const sem::Symbol& base = symbols.front()->GetUltimate();
    if (shares_memory(base) || sem::IsProcedure(base)) out_.sets = true;  // what a function gives
    if (is_of_cray(base)) out_.unknown = true;
    if (is_held(base)) out_.changes[&base].insert(path_of({base}));
  }

  void moved(const SomeExpr* e) {
    if (e)
      moved(ev::GetSymbolVector(*e));
    else
      out_.unknown = true;
  }
  void moved(const ev::SymbolVector& symbols) {
    changed(symbols);
    add_moved(symbols, out_);
  }

  OwnEffects& out_;
  int depth_ = 0;   // of expressions
  int masked_ = 0;  // constructs with masks around
};

template <typename T>
OwnEffects effects_in(const T& tree, std::vector<const fp::Name*>* entries = nullptr) {
  OwnEffects out;
  Finder finder(out);
  walk(tree, finder);
  if (entries) *entries = std::move(finder.entries);
  return out;
}

}  // namespace

namespace {

/// Whether a value is computed from all of a variable, element by element.
class OperandFinder : public ev::AnyTraverse<OperandFinder> {
 public:
  using Base = ev::AnyTraverse<OperandFinder>;
  explicit OperandFinder(const ev::DataRef& whole) : Base(*this), whole_(whole) {}
  using Base::operator();

  template <typename T>
  bool operator()(const ev::Designator<T>& d) const {
    const auto ref = ev::ExtractDataRef(d);
    return ref && *ref == whole_;
  }
  bool operator()(const ev::ProcedureRef& f) const {
    return f.IsElemental() && (*this)(f.arguments());
  }
  template <typename T>
  bool operator()(const ev::ArrayConstructor<T>&) const {
    return false;
  }
  bool operator()(const ev::StructureConstructor&) const { return false; }
  bool operator()(const ev::DescriptorInquiry&) const { return false; }

 private:
  const ev::DataRef& whole_;
};

}  // namespace

bool keeps_shape(const SomeExpr& to, const SomeExpr& value) {
  const auto type = to.GetType();
  const auto whole = ev::ExtractDataRef(to);
  if (!type || !whole || to.Rank() == 0 || type->category() == TypeCategory::Character ||
      type->category() == TypeCategory::Derived)
    return false;
  return OperandFinder(*whole)(value);
}

const sem::Symbol* whole_allocatable(const SomeExpr& assigned) {
  const sem::Symbol* whole = ev::UnwrapWholeSymbolOrComponentDataRef(assigned);
  if (!whole || whole->GetUltimate().has<sem::AssocEntityDetails>()) return nullptr;
  return sem::IsAllocatable(whole->GetUltimate()) ? whole : nullptr;
}

const sem::Symbol* moved_part(const SomeExpr& assigned) {
  const auto type = assigned.GetType();
  if (!type || type->category() != TypeCategory::Derived || type->IsUnlimitedPolymorphic())
    return nullptr;
  const sem::DerivedTypeSpec& own = type->GetDerivedTypeSpec();
  if (const auto it = sem::FindAllocatableOrPointerDirectComponent(own)) return &*it;
  return assigned_by_procedure(own);
}

void add_moved(const ev::SymbolVector& symbols, OwnEffects& out) {
  if (symbols.empty()) {
    out.unknown = true;
    return;
  }
  const sem::Symbol &base = symbols.front()->GetUltimate(), &last = symbols.back()->GetUltimate();
  const bool whole = sem::IsAllocatableOrPointer(last), parts = has_parts_that_move(last);
  // What a pointer points at has other names.
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (sem::IsPointer(symbols[i]->GetUltimate()) && (parts || i + 1 < symbols.size()))
      out.unknown = true;
  if (sem::IsProcedure(base) || base.has<sem::AssocEntityDetails>()) out.unknown = true;
  if (sem::IsDummy(base)) out.moves_dummies = true;
  if (!is_held(base)) return;
  if (whole) out.moves[&last].insert(path_of(symbols));
  if (!parts) return;
  out.records[&base].insert(path_of({base}));
  sem::DirectComponentIterator all(*record_type(last));
  for (auto part = all.begin(); part != all.end(); ++part)
    if (sem::IsAllocatableOrPointer(*part))
      out.moves[&*part].insert(path_of(symbols) + part.BuildResultDesignatorName());
}

OwnEffects own_effects(const fp::SubroutineSubprogram& s, std::vector<const fp::Name*>& entries) {
  return effects_in(s, &entries);
}
OwnEffects own_effects(const fp::FunctionSubprogram& s, std::vector<const fp::Name*>& entries) {
  return effects_in(s, &entries);
}
OwnEffects own_effects(const fp::Block& b) { return effects_in(b); }
OwnEffects own_effects(const fp::ActionStmt& s) { return effects_in(s); }
OwnEffects own_effects(const fp::CallStmt& s) { return effects_in(s); }
OwnEffects own_effects(const fp::ExecutableConstruct& c) { return effects_in(c); }
OwnEffects own_effects(const fp::Expr& e) { return effects_in(e); }

}  // namespace moonloop::fortran
