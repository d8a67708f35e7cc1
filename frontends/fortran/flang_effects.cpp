#include "frontends/fortran/flang_effects.h"

#include "frontends/fortran/flang_walk.h"

// What procedures do, from what each of them does itself.
namespace moonloop::fortran {
namespace {

/// Calls `visit` on each subprogram, also within others, with its name and its first and last
/// statement.
template <typename F>
struct Subprograms : TreeVisitor {
  explicit Subprograms(F f) : visit(std::move(f)) {}

  void pre(const fp::SubroutineSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    visit(s, std::get<fp::Name>(head.statement.t), head.source,
          std::get<fp::Statement<fp::EndSubroutineStmt>>(s.t).source);
  }
  void pre(const fp::FunctionSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(s.t);
    visit(s, std::get<fp::Name>(head.statement.t), head.source,
          std::get<fp::Statement<fp::EndFunctionStmt>>(s.t).source);
  }
  bool before(const TreeNode& n) override {
    n.when<fp::SubroutineSubprogram, fp::FunctionSubprogram>([&](const auto& x) { pre(x); });
    return true;
  }

  F visit;
};

/// The texts of interfaces.
struct InterfaceFinder : TreeVisitor {
  bool pre(const fp::InterfaceBody::Subroutine& s) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    return add(std::get<fp::Name>(head.statement.t), head.source,
               std::get<fp::Statement<fp::EndSubroutineStmt>>(s.t).source);
  }
  bool pre(const fp::InterfaceBody::Function& f) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(f.t);
    return add(std::get<fp::Name>(head.statement.t), head.source,
               std::get<fp::Statement<fp::EndFunctionStmt>>(f.t).source);
  }
  bool before(const TreeNode& n) override {
    bool inside = true;
    n.when<fp::InterfaceBody::Subroutine, fp::InterfaceBody::Function>(
        [&](const auto& x) { inside = pre(x); });
    return inside;
  }

  bool add(const fp::Name& name, fp::CharBlock first, fp::CharBlock last) {
    if (name.symbol)
      found[&name.symbol->GetUltimate()] = fp::CharBlock{first.begin(), last.end()}.ToString();
    return false;
  }

  explicit InterfaceFinder(std::map<const sem::Symbol*, std::string>& to) : found(to) {}

  std::map<const sem::Symbol*, std::string>& found;
};

/// Known by its name alone, which linkers know.
bool is_external(const sem::Symbol& s) {
  const auto* p = s.detailsIf<sem::SubprogramDetails>();
  return p ? p->isInterface() : s.has<sem::ProcEntityDetails>() && !sem::IsDummy(s);
}

void insert(const OwnEffects::Names& from, OwnEffects::Names& to) {
  for (const auto& [symbol, paths] : from) to[symbol].insert(paths.begin(), paths.end());
}

void insert(const OwnEffects::Names& from, std::set<std::string>& to) {
  for (const auto& [symbol, paths] : from) to.insert(paths.begin(), paths.end());
}

}  // namespace

void ProcedureEffects::add(const fp::Program& program, const Places& places,
                           const std::vector<Diagnostic>& errors) {
  known_.clear();
  settled_ = false;
  Subprograms subprograms{
      [&](const auto& s, const fp::Name& name, fp::CharBlock first, fp::CharBlock last) {
        std::vector<const fp::Name*> entries;
        const auto own = std::make_shared<OwnEffects>(own_effects(s, entries));
        const Span from = places.of(first), to = places.of(last);
        for (const Diagnostic& d : errors)
          if (const Span& at = d.where.at;
              at.source == from.source && at.line >= from.line && at.line <= to.line)
            own->unknown = true;
        entries.push_back(&name);
        for (const fp::Name* n : entries) {
          if (!n->symbol) continue;
          const sem::Symbol& symbol = n->symbol->GetUltimate();
          own_[&symbol] = own;
          // The others have a name of C's.
          if (symbol.owner().IsGlobal() && !symbol.attrs().test(sem::Attr::BIND_C))
            global_[symbol.name().ToString()] = own;
        }
      }};
  walk(program, subprograms);
  InterfaceFinder interfaces{interfaces_};
  walk(program, interfaces);
}

std::string ProcedureEffects::interface_of(const sem::Symbol& procedure) const {
  const auto it = interfaces_.find(&procedure);
  return it == interfaces_.end() ? std::string() : it->second;
}

ProcedureEffects::Own ProcedureEffects::find(const sem::Symbol& procedure) const {
  if (is_external(procedure)) {
    if (procedure.attrs().test(sem::Attr::BIND_C) ||
        sem::IsSeparateModuleProcedureInterface(&procedure))
      return nullptr;
    const auto it = global_.find(procedure.name().ToString());
    return it == global_.end() ? nullptr : it->second;
  }
  const auto it = own_.find(&procedure);
  return it == own_.end() ? nullptr : it->second;
}

void ProcedureEffects::resolve(OwnEffects& part) const {
  for (const OwnEffects::Passed& p : part.passed)
    if (std::any_of(p.callees.begin(), p.callees.end(), [&](const sem::Symbol* s) {
          const Own callee = find(*s);
          return callee && callee->moves_dummies;
        }))
      for (const ev::SymbolVector& symbols : p.given) add_moved(symbols, part);
}

bool ProcedureEffects::may_move_dummies(const sem::Symbol& procedure) const {
  settle();
  const Own own = find(procedure.GetUltimate());
  return !own || own->unknown || own->moves_dummies;
}

/// Whether it gives a procedure that is not known a record of its caller's with parts that move.
bool ProcedureEffects::gives_records(const OwnEffects& own) const {
  return std::any_of(own.passed.begin(), own.passed.end(), [&](const OwnEffects::Passed& p) {
    const bool known = std::all_of(p.callees.begin(), p.callees.end(),
                                   [&](const sem::Symbol* s) { return find(*s) != nullptr; });
    return !known && std::any_of(p.given.begin(), p.given.end(), [](const ev::SymbolVector& v) {
      const auto type = ev::DynamicType::From(v.back()->GetUltimate());
      return sem::IsDummy(v.front()->GetUltimate()) && type &&
             type->category() == TypeCategory::Derived && !type->IsUnlimitedPolymorphic();
    });
  });
}

/// Resolves all, until none moves a dummy more.
void ProcedureEffects::settle() const {
  for (bool more = !std::exchange(settled_, true); more;) {
    more = false;
    for (const auto& [symbol, own] : own_) {
      const bool before = own->moves_dummies;
      resolve(*own);
      own->moves_dummies = own->moves_dummies || gives_records(*own);
      more = more || own->moves_dummies != before;
    }
  }
}

std::optional<ProcedureEffects::Known> ProcedureEffects::of(OwnEffects part) const {
  settle();
  resolve(part);
  Known out;
  Effects e;
  std::set<const OwnEffects*> seen;
  std::vector<const OwnEffects*> queue{&part};
  const auto add = [&](const Own& next) {
    if (next && seen.insert(next.get()).second) queue.push_back(next.get());
    return next != nullptr;
  };
  while (!queue.empty()) {
    const OwnEffects& own = *queue.back();
    queue.pop_back();
    if (own.unknown) return std::nullopt;
    insert(own.names, out.names);
    insert(own.names, e.names);
    insert(own.changes, e.changes);
    insert(own.moves, out.moves);
    insert(own.moves, e.moves);
    e.follows = e.follows || own.follows;
    e.sets = e.sets || own.sets;
    for (const sem::Symbol* s : own.calls)
      if (!add(find(*s))) return std::nullopt;
    for (const std::string& name : own.externals) {
      const auto it = global_.find(name);
      if (it != global_.end())
        add(it->second);
      else if (name.starts_with("mpi_"))
        e.messages = true;
      else
        return std::nullopt;
    }
  }
  out.effects = std::make_shared<const Effects>(std::move(e));
  return out;
}

const ProcedureEffects::Known* ProcedureEffects::of(const sem::Symbol& procedure) const {
  const sem::Symbol& s = procedure.GetUltimate();
  auto [it, added] = known_.try_emplace(&s);
  if (added)
    if (const Own own = find(s)) it->second = of(*own);
  return it->second ? &*it->second : nullptr;
}

}  // namespace moonloop::fortran
