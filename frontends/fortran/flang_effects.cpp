#include "frontends/fortran/flang_effects.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <flang/Parser/parse-tree-visitor.h>
#pragma GCC diagnostic pop

namespace moonloop::fortran {

/// What one procedure does, with those within it.
struct ProcedureEffects::Own {
  Names names, changes, moves;
  std::set<const sem::Symbol*> calls;
  std::set<std::string> externals;  // that it calls, which are in no module
  bool messages = false, follows = false, sets = false;
  bool unknown = false;  // it calls what is not known, or moves what its callers have to know
};

namespace {

const sem::Symbol* module_of(const sem::Symbol& s) {
  return s.owner().kind() == sem::Scope::Kind::Module ? s.owner().symbol() : nullptr;
}

std::string path_of(const ev::SymbolVector& symbols) {
  const sem::Symbol& base = symbols.front()->GetUltimate();
  std::string out = module_of(base)->name().ToString() + "::" + base.name().ToString();
  for (std::size_t i = 1; i < symbols.size(); ++i) out += "%" + symbols[i]->name().ToString();
  return out;
}

bool is_derived(const SomeExpr& e) {
  const auto type = e.GetType();
  return type && type->category() == TypeCategory::Derived;
}

/// The name that a call calls; null for others.
const sem::Symbol* callee_of(const fp::Call& c) {
  const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
  return name && name->symbol ? &name->symbol->GetUltimate() : nullptr;
}

/// Whether a dummy argument of the procedure may get other memory.
bool moves_arguments(const sem::Symbol& procedure) {
  if (const auto* generic = procedure.detailsIf<sem::GenericDetails>())
    return std::any_of(generic->specificProcs().begin(), generic->specificProcs().end(),
                       [](const sem::Symbol& s) { return moves_arguments(s.GetUltimate()); });
  const auto* details = procedure.detailsIf<sem::SubprogramDetails>();
  if (!details) return procedure.name() == "move_alloc";
  const auto& all = details->dummyArgs();
  return std::any_of(all.begin(), all.end(), [](const sem::Symbol* dummy) {
    return dummy && sem::IsAllocatableOrPointer(*dummy) &&
           !dummy->attrs().test(sem::Attr::INTENT_IN);
  });
}

/// Visits the tree of one procedure.
template <typename Own>
class Finder {
 public:
  explicit Finder(Own& out) : out_(out) {}

  template <typename T>
  bool Pre(const T&) {
    return true;
  }
  template <typename T>
  void Post(const T&) {}

  void Post(const fp::Name& n) {
    if (n.symbol) named(n.symbol->GetUltimate());
  }
  void Post(const fp::EntryStmt& e) { entries.push_back(&std::get<fp::Name>(e.t)); }
  void Post(const fp::Variable& v) {
    const SomeExpr* e = sem::GetExpr(nullptr, v);
    if (e)
      changed(*e);
    else
      out_.unknown = true;
  }
  void Post(const fp::LoopControl::Bounds& b) { counts(b.name.thing); }
  void Post(const fp::IoImpliedDoControl& c) { counts(c.name.thing.thing); }
  void Post(const fp::AllocateObject& o) {
    const auto* name = std::get_if<fp::Name>(&o.u);
    if (name && name->symbol)
      moved({name->symbol->GetUltimate()});
    else
      moved(sem::GetExpr(nullptr, o));
  }
  void Post(const fp::PointerObject& o) { moved(sem::GetExpr(nullptr, o)); }
  void Post(const fp::PointerAssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    moved(a ? &a->lhs : nullptr);
  }
  void Post(const fp::AssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    if (!a) {
      out_.unknown = true;
      return;
    }
    if (const auto* defined = std::get_if<ev::ProcedureRef>(&a->u))
      if (const sem::Symbol* f = defined->proc().GetSymbol()) named(f->GetUltimate());
    const auto type = a->lhs.GetType();
    const bool parts = type && type->category() == TypeCategory::Derived &&
                       !type->IsUnlimitedPolymorphic() &&
                       sem::HasAllocatableDirectComponent(type->GetDerivedTypeSpec());
    const auto symbols = ev::GetSymbolVector(a->lhs);
    const bool whole = !symbols.empty() && sem::IsAllocatable(symbols.back()->GetUltimate()) &&
                       ev::UnwrapWholeSymbolOrComponentDataRef(a->lhs);
    if (parts || whole) moved(symbols);
  }
  void Post(const fp::OutputItem& i) {
    const auto* e = std::get_if<fp::Expr>(&i.u);
    const SomeExpr* typed = e ? sem::GetExpr(nullptr, *e) : nullptr;
    if (typed && is_derived(*typed)) out_.unknown = true;  // a program may define that
  }
  void Post(const fp::Call& c) {
    const sem::Symbol* callee = callee_of(c);
    const bool reads =
        callee && sem::IsFunction(*callee) &&
        (callee->attrs().test(sem::Attr::INTRINSIC) || sem::IsPureProcedure(*callee));
    const bool moves = callee && moves_arguments(*callee);
    for (const fp::ActualArgSpec& a : std::get<std::list<fp::ActualArgSpec>>(c.t)) {
      using Given = Fortran::common::Indirection<fp::Expr>;
      const auto* e = std::get_if<Given>(&std::get<fp::ActualArg>(a.t).u);
      const SomeExpr* typed = e ? sem::GetExpr(nullptr, e->value()) : nullptr;
      if (!typed || !ev::IsVariable(*typed)) continue;
      if (!reads) changed(*typed);
      const auto symbols = ev::GetSymbolVector(*typed);
      if (moves && !symbols.empty() && sem::IsAllocatableOrPointer(symbols.back()->GetUltimate()))
        moved(symbols);
    }
  }
  /// Operators that a program defines are names only here.
  bool Pre(const fp::Expr& e) {
    if (depth_++ > 0) return true;
    if (const SomeExpr* typed = sem::GetExpr(nullptr, e))
      for (const sem::Symbol& s : ev::CollectSymbols(*typed))
        if (sem::IsProcedure(s)) named(s.GetUltimate());
    return true;
  }
  void Post(const fp::Expr&) { --depth_; }

  std::vector<const fp::Name*> entries;

 private:
  void counts(const fp::Name& n) {
    if (n.symbol) changed({n.symbol->GetUltimate()});
  }

  void external(const std::string& name) {
    if (name.starts_with("mpi_"))
      out_.messages = true;
    else
      out_.externals.insert(name);
  }

  void named(const sem::Symbol& s) {
    if (s.has<sem::ObjectEntityDetails>()) return variable(s);
    if (const auto* p = s.detailsIf<sem::SubprogramDetails>()) {
      if (p->stmtFunction()) return;
      if (p->isInterface())
        external(s.name().ToString());
      else
        out_.calls.insert(&s);
    } else if (s.has<sem::ProcEntityDetails>()) {
      if (s.attrs().test(sem::Attr::INTRINSIC)) return;
      if (sem::IsDummy(s) || sem::IsProcedurePointer(s))
        out_.unknown = true;
      else
        external(s.name().ToString());
    } else if (const auto* g = s.detailsIf<sem::GenericDetails>()) {
      for (const sem::Symbol& one : g->specificProcs()) named(one.GetUltimate());
      if (g->specific()) named(g->specific()->GetUltimate());
    } else if (const auto* group = s.detailsIf<sem::NamelistDetails>()) {
      for (const sem::Symbol& one : group->objects())
        variable(one.GetUltimate()), changed({one.GetUltimate()});
    } else if (s.has<sem::ProcBindingDetails>() || s.has<sem::SubprogramNameDetails>()) {
      out_.unknown = true;
    }
  }

  void variable(const sem::Symbol& s) {
    if (sem::IsNamedConstant(s)) return;
    if (sem::IsPointer(s)) out_.follows = true;
    if (sem::HasImpureFinal(s)) out_.unknown = true;
    if (s.owner().IsDerivedType())
      out_.names.emplace(&s, "");
    else if (module_of(s))
      out_.names.emplace(&s, path_of({s}));
    const auto type = ev::DynamicType::From(s);
    // Its components lose their memory when the procedure begins.
    if (sem::IsDummy(s) && s.attrs().test(sem::Attr::INTENT_OUT) && type &&
        type->category() == TypeCategory::Derived && !type->IsUnlimitedPolymorphic() &&
        sem::HasAllocatableDirectComponent(type->GetDerivedTypeSpec()))
      out_.unknown = true;
  }

  void changed(const SomeExpr& e) { changed(ev::GetSymbolVector(e)); }
  void changed(const ev::SymbolVector& symbols) {
    if (symbols.empty()) return;
    for (const sem::Symbol& s : symbols)
      if (sem::IsPointer(s.GetUltimate())) out_.sets = true;
    const sem::Symbol& base = symbols.front()->GetUltimate();
    if (const auto* other = base.detailsIf<sem::AssocEntityDetails>()) {
      if (other->expr() && ev::IsVariable(*other->expr())) changed(*other->expr());
      return;
    }
    if (sem::FindEquivalenceSet(base) || sem::FindCommonBlockContaining(base)) out_.sets = true;
    if (module_of(base)) out_.changes.emplace(&base, path_of({base}));
  }

  void moved(const SomeExpr* e) {
    if (e)
      moved(ev::GetSymbolVector(*e));
    else
      out_.unknown = true;
  }
  void moved(const ev::SymbolVector& symbols) {
    changed(symbols);
    if (symbols.empty()) {
      out_.unknown = true;
      return;
    }
    const sem::Symbol& base = symbols.front()->GetUltimate();
    const bool part = symbols.size() > 1;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      if (sem::IsPointer(symbols[i]->GetUltimate())) out_.unknown = true;
    if (base.has<sem::AssocEntityDetails>() || (part && sem::IsDummy(base))) out_.unknown = true;
    if (module_of(base)) out_.moves.emplace(&symbols.back()->GetUltimate(), path_of(symbols));
  }

  Own& out_;
  int depth_ = 0;  // of expressions
};

/// Calls `visit` on each subprogram, also within others, with its name and its first and last
/// statement.
template <typename F>
struct Subprograms {
  bool Pre(const fp::SubroutineSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    visit(s, std::get<fp::Name>(head.statement.t), head.source,
          std::get<fp::Statement<fp::EndSubroutineStmt>>(s.t).source);
    return true;
  }
  bool Pre(const fp::FunctionSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(s.t);
    visit(s, std::get<fp::Name>(head.statement.t), head.source,
          std::get<fp::Statement<fp::EndFunctionStmt>>(s.t).source);
    return true;
  }
  template <typename T>
  bool Pre(const T&) {
    return true;
  }
  template <typename T>
  void Post(const T&) {}

  F visit;
};

}  // namespace

void ProcedureEffects::add(const fp::Program& program, const Places& places,
                           const std::vector<Diagnostic>& errors) {
  known_.clear();
  Subprograms subprograms{
      [&](const auto& s, const fp::Name& name, fp::CharBlock first, fp::CharBlock last) {
        auto own = std::make_shared<Own>();
        Finder<Own> finder(*own);
        fp::Walk(s, finder);
        const Span from = places.of(first), to = places.of(last);
        for (const Diagnostic& d : errors)
          if (const Span& at = d.where.at;
              at.source == from.source && at.line >= from.line && at.line <= to.line)
            own->unknown = true;
        finder.entries.push_back(&name);
        for (const fp::Name* n : finder.entries) {
          if (!n->symbol) continue;
          const sem::Symbol& symbol = n->symbol->GetUltimate();
          own_[&symbol] = own;
          if (symbol.owner().IsGlobal()) global_[symbol.name().ToString()] = own;
        }
      }};
  fp::Walk(program, subprograms);
}

const ProcedureEffects::Known* ProcedureEffects::of(const sem::Symbol& procedure) const {
  const sem::Symbol& first = procedure.GetUltimate();
  if (const auto it = known_.find(&first); it != known_.end())
    return it->second ? &*it->second : nullptr;
  std::optional<Known>& out = known_[&first];
  Known known;
  Effects e;
  std::set<std::shared_ptr<const Own>> seen;
  std::vector<std::shared_ptr<const Own>> queue;
  const auto add = [&](const auto& map, const auto& key) {
    const auto it = map.find(key);
    if (it == map.end()) return false;
    if (seen.insert(it->second).second) queue.push_back(it->second);
    return true;
  };
  const auto external = [&](const sem::Symbol& s) {
    const auto* p = s.detailsIf<sem::SubprogramDetails>();
    return p ? p->isInterface() : s.has<sem::ProcEntityDetails>() && !sem::IsDummy(s);
  };
  if (!(external(first) ? add(global_, first.name().ToString()) : add(own_, &first)))
    return nullptr;
  while (!queue.empty()) {
    const std::shared_ptr<const Own> own = std::move(queue.back());
    queue.pop_back();
    if (own->unknown) return nullptr;
    for (const auto& [symbol, path] : own->names) {
      known.names.emplace(symbol, path);
      if (!path.empty()) e.names.insert(path);
    }
    for (const auto& [symbol, path] : own->changes) e.changes.insert(path);
    for (const auto& [symbol, path] : own->moves) {
      known.moves.emplace(symbol, path);
      e.moves.insert(path);
    }
    e.messages = e.messages || own->messages;
    e.follows = e.follows || own->follows;
    e.sets = e.sets || own->sets;
    for (const sem::Symbol* s : own->calls)
      if (!add(own_, s)) return nullptr;
    for (const std::string& name : own->externals)
      if (!add(global_, name)) return nullptr;
  }
  known.effects = std::make_shared<const Effects>(std::move(e));
  out = std::move(known);
  return &*out;
}

std::shared_ptr<const Effects> ProcedureEffects::of(
    const std::set<const sem::Symbol*>& procedures) const {
  if (procedures.empty()) return nullptr;
  Effects out;
  for (const sem::Symbol* s : procedures) {
    const Known* one = of(*s);
    if (!one) return nullptr;
    const Effects& e = *one->effects;
    out.names.insert(e.names.begin(), e.names.end());
    out.changes.insert(e.changes.begin(), e.changes.end());
    out.moves.insert(e.moves.begin(), e.moves.end());
    out.messages = out.messages || e.messages;
    out.follows = out.follows || e.follows;
    out.sets = out.sets || e.sets;
  }
  return std::make_shared<const Effects>(std::move(out));
}

}  // namespace moonloop::fortran
