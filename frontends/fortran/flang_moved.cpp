#include "frontends/fortran/flang_moved.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_walk.h"

// Variables of modules that statements give other memory, or ask whether they have some.
namespace moonloop::fortran {

bool is_present(const fp::Call& c) {
  const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
  return name && name->ToString() == "present" && name->symbol &&
         name->symbol->attrs().test(sem::Attr::INTRINSIC);
}

namespace {

/// What is asked whether it has memory, or whether it points at something.
struct QuestionFinder : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Call>([&](const auto& x) { post(x); });
  }

  void post(const fp::Call& c) {
    const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(c.t).u);
    if (!name || !name->symbol || !name->symbol->attrs().test(sem::Attr::INTRINSIC)) return;
    const bool points = name->ToString() == "associated";
    if (!points && name->ToString() != "allocated") return;
    for (const fp::ActualArgSpec& a : std::get<std::list<fp::ActualArgSpec>>(c.t))
      if (const auto* e =
              std::get_if<Fortran::common::Indirection<fp::Expr>>(&std::get<fp::ActualArg>(a.t).u))
        if (const SomeExpr* typed = sem::GetExpr(nullptr, e->value())) {
          const auto symbols = ev::GetSymbolVector(*typed);
          if (points && (symbols.empty() || !sem::IsPointer(symbols.back()->GetUltimate())))
            continue;  // a target
          add_moved(symbols, found);
        }
  }

  OwnEffects found;
};

/// Components that elements of arrays of modules have each for itself, in memory of their own: no
/// array of a kernel has them.
struct ScatteredFinder : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Expr, fp::Variable, fp::AllocateObject>([&](const auto& x) { post(x); });
  }
  void post(const fp::Expr& e) { note(sem::GetExpr(nullptr, e)); }
  void post(const fp::Variable& v) { note(sem::GetExpr(nullptr, v)); }
  void post(const fp::AllocateObject& o) {
    if (std::holds_alternative<fp::StructureComponent>(o.u)) note(sem::GetExpr(nullptr, o));
  }

  void note(const SomeExpr* e) {
    if (!e || !ev::IsVariable(*e)) return;
    const auto symbols = ev::GetSymbolVector(*e);
    if (symbols.empty() || holder_of(symbols.front()->GetUltimate()).empty()) return;
    bool in_array = false;
    for (const sem::Symbol& s : symbols) {
      if (in_array && sem::IsAllocatableOrPointer(s)) found.insert(&s.GetUltimate());
      in_array = in_array || s.Rank() > 0;
    }
  }

  std::set<const sem::Symbol*> found;
};

/// What a procedure that is not known may give other memory, of what a block uses.
struct ReachedFinder : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Expr, fp::Variable>([&](const auto& x) { post(x); });
  }
  void post(const fp::Expr& e) { note(sem::GetExpr(nullptr, e)); }
  void post(const fp::Variable& v) { note(sem::GetExpr(nullptr, v)); }

  void note(const SomeExpr* e) {
    if (!e || !ev::IsVariable(*e)) return;
    const auto symbols = ev::GetSymbolVector(*e);
    if (symbols.empty() || holder_of(symbols.front()->GetUltimate()).empty()) return;
    for (const sem::Symbol& s : symbols)
      if (sem::IsAllocatableOrPointer(s) && !sem::IsProcedure(s)) found.insert(&s.GetUltimate());
  }

  std::set<const sem::Symbol*> found;
};

/// Whether all calls in a block of what is not known are given a variable, which they cannot give
/// other memory then by its own name.
bool is_passed_to_unknown(const sem::Symbol* variable, const OwnEffects& own,
                          const ProcedureEffects& procedures) {
  const auto is_unknown = [&](const OwnEffects::Passed& p) {
    return p.callees.empty() || std::any_of(p.callees.begin(), p.callees.end(),
                                            [&](const auto* s) { return !procedures.of(*s); });
  };
  const auto has = [&](const OwnEffects::Passed& p) {
    return std::any_of(p.given.begin(), p.given.end(), [&](const ev::SymbolVector& symbols) {
      return &symbols.back()->GetUltimate() == variable;
    });
  };
  bool some = false;
  for (const OwnEffects::Passed& p : own.passed)
    if (is_unknown(p)) {
      some = true;
      if (!has(p)) return false;
    }
  return some;
}

/// The names in a block: whether it has a symbol, and its procedures.
struct BlockNames : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Name>([&](const auto& x) { post(x); });
  }
  void post(const fp::Name& n) {
    if (!n.symbol) return;
    const sem::Symbol& s = n.symbol->GetUltimate();
    all.insert(&s);
    if (sem::IsProcedure(s)) procedures.insert(&s);
  }

  std::set<const sem::Symbol*> all, procedures;
};

bool has(const ProcedureEffects::Known& p, const sem::Symbol* variable) {
  return p.names.contains(variable) || p.moves.contains(variable);
}

/// Whether a call of this argument needs its interface: C has addresses to pass.
bool needs_interface(const ev::ProcedureDesignator& p) {
  const sem::Symbol* s = p.GetSymbol();
  if (!s || p.GetSpecificIntrinsic() || !sem::IsDummy(s->GetUltimate())) return false;
  try {
    is_in_another_file(*s, {});
  } catch (const Error&) { return true; }
  return false;
}

/// Calls of functions that only Fortran finds, or that it alone can call or knows.
struct FunctionFinder : TreeVisitor {
  void after(const TreeNode& n) override {
    n.when<fp::Expr>([&](const auto& x) { found = found || is_one(x); });
  }
  static bool is_one(const fp::Expr& e) {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    const auto* ref = typed ? ev::UnwrapProcedureRef(*typed) : nullptr;
    const sem::Symbol* s = ref ? ref->proc().GetSymbol() : nullptr;
    return ref && (is_found_at_run_time(ref->proc()) || needs_interface(ref->proc()) ||
                   (s && is_extension(*s)));
  }
  bool found = false;
};

struct UseFinder : TreeVisitor {
  bool before(const TreeNode& n) override {
    bool inside = !found;
    n.when<fp::Call>([&](const auto& c) { inside = inside && !is_present(c); });
    return inside;
  }
  void after(const TreeNode& n) override {
    n.when<fp::Name>([&](const auto& x) { post(x); });
    n.when<fp::Expr>([&](const auto& x) { found = found || FunctionFinder::is_one(x); });
  }
  void post(const fp::Name& n) { found = found || (n.symbol && is_use(n.symbol->GetUltimate())); }

  bool is_use(const sem::Symbol& s) const {
    if (moved.variables.contains(&s)) return true;
    if (moved.boxed_functions && gives_boxed(s)) return true;
    const auto* known = sem::IsProcedure(s) && moved.procedures ? moved.procedures->of(s) : nullptr;
    return known && std::any_of(moved.variables.begin(), moved.variables.end(),
                                [&](const auto& v) { return has(*known, v.first); });
  }

  explicit UseFinder(const Moved& m) : moved(m) {}

  const Moved& moved;
  bool found = false;
};

template <typename T>
bool uses_some(const T& x, const Moved& moved) {
  if (moved.variables.empty() && !moved.boxed_functions) return false;
  UseFinder f{moved};
  walk(x, f);
  return f.found;
}

/// Whether the statements of a construct can be elsewhere: none of them leaves it, or is gone to.
struct WholeFinder : TreeVisitor {
  explicit WholeFinder(bool loop) : is_loop(loop) {}

  bool before(const TreeNode& n) override {
    if (n.source) {
      const bool keyword = n.as<fp::Statement<fp::NonLabelDoStmt>>() != nullptr;
      possible = possible && !*n.label && (!keyword || n.source->ToString().starts_with("do "));
    }
    n.when<fp::ExitStmt, fp::CycleStmt>(
        [&](const auto& s) { possible = possible && is_loop && !s.v; });
    n.when<fp::Call>([&](const auto& c) { possible = possible && !is_present(c); });
    n.when<fp::ReturnStmt, fp::StopStmt, fp::GotoStmt, fp::ComputedGotoStmt, fp::ArithmeticIfStmt,
           fp::CallStmt, fp::PointerAssignmentStmt, fp::Format, fp::PrintStmt, fp::WriteStmt,
           fp::ReadStmt, fp::AssociateConstruct, fp::CaseConstruct, fp::OpenMPConstruct,
           fp::OpenACCConstruct, fp::CompilerDirective>([&](const auto&) { possible = false; });
    n.when<fp::BlockConstruct>([&](const auto&) { possible = possible && blocks-- > 0; });
    return possible;
  }

  bool is_loop, possible = true;
  int blocks = 0;  // which there may be
};

template <typename First, typename Last, typename T>
std::optional<fp::CharBlock> text_of(const T& construct, bool is_loop) {
  WholeFinder f{is_loop};
  f.blocks = std::is_same_v<T, fp::BlockConstruct> ? 1 : 0;
  walk(construct, f);
  if (!f.possible) return std::nullopt;
  const fp::CharBlock first = std::get<fp::Statement<First>>(construct.t).source,
                      last = std::get<fp::Statement<Last>>(construct.t).source;
  return fp::CharBlock{first.begin(), last.end()};
}

}  // namespace

Moved moved_in(const fp::Block& block, const ProcedureEffects& procedures, Boxes boxes) {
  QuestionFinder questions;
  walk(block, questions);
  OwnEffects own = own_effects(block);
  procedures.resolve(own);
  Moved out{own.moves, &procedures, std::move(boxes), {}};
  for (const auto& [symbol, box] : out.boxes) out.variables[symbol];
  const auto add = [&](const OwnEffects::Names& more) {
    for (const auto& [symbol, paths] : more)
      out.variables[symbol].insert(paths.begin(), paths.end());
  };
  add(questions.found.moves);
  ScatteredFinder scattered;
  walk(block, scattered);
  for (const sem::Symbol* s : scattered.found) out.variables[s];
  add(own.records);
  if (!procedures.of(own)) {
    ReachedFinder reached;
    walk(block, reached);
    for (const sem::Symbol* s : reached.found)
      if (!is_passed_to_unknown(s, own, procedures)) out.variables[s];
  }
  BlockNames names;
  walk(block, names);
  out.boxed_functions = std::any_of(names.procedures.begin(), names.procedures.end(),
                                    [](const sem::Symbol* s) { return gives_boxed(*s); });
  FunctionFinder found_later;
  walk(block, found_later);
  out.boxed_functions = out.boxed_functions || found_later.found;
  std::vector<std::pair<const sem::Symbol*, const ProcedureEffects::Known*>> called;
  for (const sem::Symbol* s : names.procedures)
    if (const auto* known = procedures.of(*s)) called.emplace_back(s, known);
  // What one procedure moves is its own matter where nothing else here uses it.
  for (const auto& [symbol, one] : called)
    for (const auto& [variable, paths] : one->moves)
      if (names.all.contains(variable) ||
          std::any_of(called.begin(), called.end(),
                      [&, self = symbol, v = variable](const auto& other) {
                        return other.first != self && has(*other.second, v);
                      }))
        out.variables[variable].insert(paths.begin(), paths.end());
  return out;
}

bool uses(const fp::ActionStmt& s, const Moved& moved) { return uses_some(s, moved); }
bool uses(const fp::Expr& e, const Moved& moved) { return uses_some(e, moved); }

bool assigns_flag(const fp::AssignmentStmt& s, const Moved& moved) {
  const ev::Assignment* a = sem::GetAssignment(s);
  const auto type = a && a->lhs.Rank() == 0 ? a->lhs.GetType() : std::nullopt;
  return type && type->category() == TypeCategory::Logical &&
         !uses_some(std::get<fp::Variable>(s.t), moved);
}

std::optional<fp::CharBlock> whole_with(const fp::ExecutableConstruct& c, const Moved& moved) {
  using Fortran::common::Indirection;
  if (!uses_some(c, moved)) return std::nullopt;
  if (const auto* x = std::get_if<Indirection<fp::DoConstruct>>(&c.u))
    return text_of<fp::NonLabelDoStmt, fp::EndDoStmt>(x->value(), true);
  if (const auto* x = std::get_if<Indirection<fp::IfConstruct>>(&c.u))
    return text_of<fp::IfThenStmt, fp::EndIfStmt>(x->value(), false);
  if (const auto* x = std::get_if<Indirection<fp::WhereConstruct>>(&c.u))
    return text_of<fp::WhereConstructStmt, fp::EndWhereStmt>(x->value(), false);
  return std::nullopt;
}

std::optional<fp::CharBlock> text_of_block(const fp::BlockConstruct& x) {
  return text_of<fp::BlockStmt, fp::EndBlockStmt>(x, false);
}

}  // namespace moonloop::fortran
