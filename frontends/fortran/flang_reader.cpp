#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/diagnostic.h"
#include "frontends/fortran/flang.h"

// Flang's parse tree as program.h has it.
namespace moonloop::fortran {
namespace {

namespace fp = Fortran::parser;
namespace sem = Fortran::semantics;
namespace ev = Fortran::evaluate;
using Fortran::common::TypeCategory;

/// A construct that the subset does not have, by the name that Fortran gives it.
[[noreturn]] void unsupported(const Span& at, std::string_view what, std::string_view hint = {}) {
  throw Error(Diagnostic{"unsupported",
                         fmt::format("{} is not supported in Fortran kernels", what),
                         {at, {}},
                         {},
                         std::string(hint)});
}

// ---- Declarations.

class Declarations {
 public:
  Declarations(const Places& places, Routine& routine) : places_(places), routine_(routine) {}

  void read(const sem::Scope& scope) {
    for (const auto& [name, symbol] : scope) {
      const sem::Symbol& s = symbol->GetUltimate();
      if (s.has<sem::ObjectEntityDetails>()) add(*symbol, s);
    }
  }

 private:
  void add(const sem::Symbol& local, const sem::Symbol& s) {
    const Span at = places_.of(s.name());
    Variable v;
    v.name = local.name().ToString();
    v.at = at;
    v.dummy = sem::IsDummy(s) || sem::IsFunctionResult(s);
    const auto type = ev::DynamicType::From(s);
    if (!type) return;
    if (s.test(sem::Symbol::Flag::InCommonBlock) || sem::FindCommonBlockContaining(s))
      unsupported(at, fmt::format("`{}` in a common block", v.name));
    if (sem::FindEquivalenceSet(s)) unsupported(at, fmt::format("`{}` in `equivalence`", v.name));
    if (sem::IsPointer(s)) unsupported(at, fmt::format("the pointer `{}`", v.name));
    if (sem::IsAllocatable(s)) unsupported(at, fmt::format("the allocatable `{}`", v.name));
    if (s.attrs().test(sem::Attr::OPTIONAL))
      unsupported(at, fmt::format("the optional argument `{}`", v.name));
    v.type = type_of(*type, v.dummy, v.name, at);
    v.logical = type->category() == TypeCategory::Logical;
    v.character = type->category() == TypeCategory::Character;
    v.value = s.attrs().test(sem::Attr::VALUE);
    if (s.attrs().test(sem::Attr::INTENT_IN)) v.intent = Intent::In;
    if (s.attrs().test(sem::Attr::INTENT_OUT) || sem::IsFunctionResult(s)) v.intent = Intent::Out;
    if (s.attrs().test(sem::Attr::INTENT_INOUT)) v.intent = Intent::InOut;
    const auto& details = s.get<sem::ObjectEntityDetails>();
    v.array = details.IsArray();
    for (const sem::ShapeSpec& spec : details.shape()) v.bounds.push_back(bounds(spec, at));
    v.constant = sem::IsNamedConstant(s);
    if (const auto& init = details.init()) {
      v.initial = to_elements(*init, at);
      if (!v.constant && !v.initial.empty() && sem::IsSaved(s)) v.constant = true;
    }
    routine_.variables.emplace(v.name, std::move(v));
  }

  static Type type_of(const ev::DynamicType& t, bool dummy, const std::string& name,
                      const Span& at) {
    const int kind = t.category() == TypeCategory::Derived ? 0 : t.kind();
    switch (t.category()) {
      case TypeCategory::Integer:
      case TypeCategory::Logical:
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
      case TypeCategory::Character:
        if (kind == 1 && dummy && t.knownLength() == 1) return Scalar::I8;
        break;
      default: break;
    }
    unsupported(at, fmt::format("`{}` of type {}", name, t.AsFortran()));
  }

  static Bounds bounds(const sem::ShapeSpec& spec, const Span& at) {
    const auto one = [&](const sem::Bound& b) -> Expr {
      const auto& e = b.GetExplicit();
      return e ? to_index(*e, at) : Expr();
    };
    return {one(spec.lbound()), one(spec.ubound())};
  }

  const Places& places_;
  Routine& routine_;
};

// ---- Statements.

class Reader {
 public:
  explicit Reader(const Places& places) : places_(places) {}

  Body block(const fp::Block& b, const Span& around) {
    Body out;
    for (const fp::ExecutionPartConstruct& c : b) part(c, around, out);
    return out;
  }

 private:
  template <typename T>
  Expr value(const T& e, const Span& at) const {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    if (!typed) throw InternalError("Flang gives an expression no type");
    return to_expr(*typed, at);
  }

  void part(const fp::ExecutionPartConstruct& c, const Span& around, Body& out) {
    std::visit(Fortran::common::visitors{
                   [&](const fp::ExecutableConstruct& x) { construct(x, around, out); },
                   [&](const fp::Statement<Fortran::common::Indirection<fp::FormatStmt>>&) {},
                   [&](const fp::Statement<Fortran::common::Indirection<fp::EntryStmt>>& x) {
                     unsupported(places_.of(x.source), "`entry`");
                   },
                   [&](const fp::Statement<Fortran::common::Indirection<fp::DataStmt>>&) {},
                   [&](const fp::Statement<Fortran::common::Indirection<fp::NamelistStmt>>&) {},
                   [&](const fp::ErrorRecovery&) {}},
               c.u);
  }

  void construct(const fp::ExecutableConstruct& c, const Span& around, Body& out) {
    using Fortran::common::Indirection;
    std::visit(Fortran::common::visitors{
                   [&](const fp::Statement<fp::ActionStmt>& x) {
                     action(x.statement, places_.of(x.source), out);
                   },
                   [&](const Indirection<fp::DoConstruct>& x) { loop(x.value(), out); },
                   [&](const Indirection<fp::IfConstruct>& x) { choice(x.value(), out); },
                   [&](const Indirection<fp::CaseConstruct>& x) { select(x.value(), out); },
                   [&](const Indirection<fp::AssociateConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`associate`");
                   },
                   [&](const Indirection<fp::BlockConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`block`");
                   },
                   [&](const Indirection<fp::WhereConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`where`");
                   },
                   [&](const Indirection<fp::ForallConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`forall`");
                   },
                   [&](const Indirection<fp::CompilerDirective>& x) {
                     unsupported(places_.of(x.value().source), "this directive");
                   },
                   [&](const Indirection<fp::OpenMPConstruct>& x) { openmp(x.value(), out); },
                   [&](const Indirection<fp::OpenACCConstruct>& x) {
                     unsupported(places_.of(fp::FindSourceLocation(x.value())),
                                 "a directive of OpenACC",
                                 "tag the loop in a transform block: tag_inames(\"i\", \"g.0\")");
                   },
                   [&](const auto&) { unsupported(around, "a construct of this form"); }},
               c.u);
  }

  void action(const fp::ActionStmt& s, const Span& at, Body& out) {
    using Fortran::common::Indirection;
    std::visit(
        Fortran::common::visitors{
            [&](const Indirection<fp::AssignmentStmt>& x) { assignment(x.value(), at, out); },
            [&](const Indirection<fp::IfStmt>& x) {
              Choice c;
              auto body = std::make_shared<Body>();
              const auto& inner = std::get<1>(x.value().t);
              action(inner.statement, at, *body);
              c.arms.push_back({value(std::get<0>(x.value().t), at), std::move(body)});
              out.push_back({at, std::move(c)});
            },
            [&](const fp::ContinueStmt&) {},
            [&](const Indirection<fp::ReturnStmt>& x) {
              if (x.value().v) unsupported(at, "`return` with a value");
              out.push_back({at, Leave{Leave::Kind::Return}});
            },
            [&](const Indirection<fp::CallStmt>& x) { call(x.value(), at, out); },
            [&](const Indirection<fp::GotoStmt>&) { unsupported(at, "`goto`"); },
            [&](const Indirection<fp::ExitStmt>& x) {
              out.push_back({at, Leave{Leave::Kind::Exit, loop_of(x.value().v, at)}});
            },
            [&](const Indirection<fp::CycleStmt>& x) {
              out.push_back({at, Leave{Leave::Kind::Cycle, loop_of(x.value().v, at)}});
            },
            [&](const Indirection<fp::StopStmt>&) { unsupported(at, "`stop`"); },
            [&](const Indirection<fp::PrintStmt>&) { unsupported(at, "`print`"); },
            [&](const Indirection<fp::WriteStmt>&) { unsupported(at, "`write`"); },
            [&](const Indirection<fp::ReadStmt>&) { unsupported(at, "`read`"); },
            [&](const Indirection<fp::WhereStmt>&) { unsupported(at, "`where`"); },
            [&](const Indirection<fp::ForallStmt>&) { unsupported(at, "`forall`"); },
            [&](const Indirection<fp::AllocateStmt>&) { unsupported(at, "`allocate`"); },
            [&](const Indirection<fp::PointerAssignmentStmt>&) {
              unsupported(at, "an assignment to a pointer");
            },
            [&](const auto&) { unsupported(at, "a statement of this form"); }},
        s.u);
  }

  void assignment(const fp::AssignmentStmt& s, const Span& at, Body& out) {
    const ev::Assignment* a = sem::GetAssignment(s);
    if (!a) throw InternalError("Flang gives an assignment no types");
    if (!std::holds_alternative<ev::Assignment::Intrinsic>(a->u))
      unsupported(at, "an assignment that a program defines");
    Expr to = to_expr(a->lhs, at);
    if (const auto* test = to.as<Compare>()) to = test->left;  // a logical one, as it is kept
    out.push_back({at, Assignment{to, to_expr(a->rhs, at)}});
  }

  /// Which loop `exit` or `cycle` means, from the innermost one on.
  int loop_of(const std::optional<fp::Name>& name, const Span& at) const {
    if (!name) return 0;
    for (std::size_t n = loops_.size(); n-- > 0;)
      if (loops_[n] == name->ToString()) return static_cast<int>(loops_.size() - 1 - n);
    unsupported(at, fmt::format("leaving `{}`, which is no loop,", name->ToString()));
  }

  void call(const fp::CallStmt& s, const Span& at, Body& out) {
    if (!s.typedCall) throw InternalError("Flang gives a call no types");
    const ev::ProcedureRef& ref = *s.typedCall;
    const sem::Symbol* callee = ref.proc().GetSymbol();
    const std::string name = ref.proc().GetName();
    if (!callee || !callee->GetUltimate().has<sem::ProcEntityDetails>() || sem::IsDummy(*callee))
      unsupported(at, fmt::format("the call of `{}`", name));
    ExternalCall x{name, {}};
    for (const auto& a : ref.arguments()) {
      const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
      const bool scalar = value && value->Rank() == 0 && value->GetType() &&
                          value->GetType()->category() != TypeCategory::Logical;
      const Expr e = scalar ? to_argument(*value, at) : Expr();
      if (!e || e.as<Load>())  // which may mean all of the array from there on
        unsupported(at, fmt::format("this argument of `{}`, which stands in another file,", name));
      x.arguments.push_back(e);
    }
    out.push_back({at, std::move(x)});
  }

  void loop(const fp::DoConstruct& d, Body& out) {
    const auto& head = std::get<fp::Statement<fp::NonLabelDoStmt>>(d.t);
    const Span at = places_.of(head.source);
    if (d.IsDoWhile()) unsupported(at, "`do while`");
    if (d.IsDoConcurrent()) unsupported(at, "`do concurrent`");
    if (!d.IsDoNormal()) unsupported(at, "`do` without bounds");
    const auto& bounds = std::get<fp::LoopControl::Bounds>(d.GetLoopControl()->u);
    Do x;
    const fp::Name& name = bounds.name.thing;
    if (const auto type = ev::DynamicType::From(name.symbol->GetUltimate());
        !type || type->category() != TypeCategory::Integer)
      unsupported(at, fmt::format("the loop variable `{}`, which is no integer", name.ToString()));
    x.variable = name.symbol->name().ToString();
    x.from = without_casts(value(bounds.lower, at));
    x.to = without_casts(value(bounds.upper, at));
    if (bounds.step) x.step = without_casts(value(*bounds.step, at));
    const auto& label = std::get<std::optional<fp::Name>>(head.statement.t);
    loops_.push_back(label ? label->ToString() : "");
    x.body = std::make_shared<Body>(block(std::get<fp::Block>(d.t), at));
    loops_.pop_back();
    out.push_back({at, std::move(x)});
  }

  static Expr without_casts(const Expr& e) {
    const auto* c = e.as<Cast>();
    return c && is_integer(c->type.scalar) ? without_casts(c->arg) : e;
  }

  void choice(const fp::IfConstruct& x, Body& out) {
    Choice c;
    const auto& head = std::get<fp::Statement<fp::IfThenStmt>>(x.t);
    const Span at = places_.of(head.source);
    const auto arm = [&](const fp::ScalarLogicalExpr& condition, const fp::Block& b,
                         const Span& place) {
      c.arms.push_back({value(condition, place), std::make_shared<Body>(block(b, place))});
    };
    arm(std::get<fp::ScalarLogicalExpr>(head.statement.t), std::get<fp::Block>(x.t), at);
    for (const auto& e : std::get<std::list<fp::IfConstruct::ElseIfBlock>>(x.t)) {
      const auto& test = std::get<fp::Statement<fp::ElseIfStmt>>(e.t);
      arm(std::get<fp::ScalarLogicalExpr>(test.statement.t), std::get<fp::Block>(e.t),
          places_.of(test.source));
    }
    if (const auto& e = std::get<std::optional<fp::IfConstruct::ElseBlock>>(x.t)) {
      const Span place = places_.of(std::get<fp::Statement<fp::ElseStmt>>(e->t).source);
      c.arms.push_back({Expr(), std::make_shared<Body>(block(std::get<fp::Block>(e->t), place))});
    }
    out.push_back({at, std::move(c)});
  }

  // ---- Directives.

  void openmp(const fp::OpenMPConstruct& x, Body& out) {
    const Span place = places_.of(fp::FindSourceLocation(x));
    const auto* construct = std::get_if<fp::OpenMPLoopConstruct>(&x.u);
    if (!construct) unsupported(place, "this directive of OpenMP");
    const auto& begin = construct->BeginDir();
    Directive d;
    d.at = places_.of(begin.source);
    switch (begin.DirId()) {
      case llvm::omp::Directive::OMPD_parallel_do: d.tag = "par"; break;
      case llvm::omp::Directive::OMPD_simd: d.tag = "simd"; break;
      default: unsupported(d.at, "this directive of OpenMP");
    }
    for (const fp::OmpClause& c : begin.Clauses().v) clause(c, d);
    const fp::DoConstruct* inside = construct->GetNestedLoop();
    if (!inside) unsupported(d.at, "a directive without a loop below it");
    loop(*inside, out);
    std::get<Do>(out.back().what).directive = std::make_shared<const Directive>(std::move(d));
  }

  /// Whose variables are private is proved, so clauses that say it hold or the step is refused.
  void clause(const fp::OmpClause& c, Directive& d) {
    const Span at = places_.of(c.source);
    std::visit(Fortran::common::visitors{
                   [&](const fp::OmpClause::Private&) {}, [&](const fp::OmpClause::Shared&) {},
                   [&](const fp::OmpClause::Default&) {},
                   [&](const fp::OmpClause::Collapse& x) {
                     const auto n = as_int(value(x.v, at));
                     if (!n || *n < 1) unsupported(at, "this `collapse`");
                     d.loops = static_cast<int>(*n);
                   },
                   [&](const fp::OmpClause::Reduction& x) { reduction(x.v, at, d); },
                   [&](const auto&) {
                     unsupported(at, fmt::format("the clause `{}`", c.source.ToString()));
                   }},
               c.u);
  }

  static void reduction(const fp::OmpReductionClause& r, const Span& at, Directive& d) {
    if (d.tag == "par")  // threads share no reduction yet
      unsupported(at, "a reduction of `parallel do`");
    std::string op;
    if (const auto& modifiers = std::get<0>(r.t))
      for (const auto& m : *modifiers)
        if (const auto* id = std::get_if<fp::OmpReductionIdentifier>(&m.u)) op = operation(*id);
    if (op.empty()) unsupported(at, "this reduction");
    for (const fp::OmpObject& o : std::get<fp::OmpObjectList>(r.t).v) {
      const auto* designator = std::get_if<fp::Designator>(&o.u);
      const auto* ref = designator ? std::get_if<fp::DataRef>(&designator->u) : nullptr;
      const auto* name = ref ? std::get_if<fp::Name>(&ref->u) : nullptr;
      if (!name) unsupported(at, "a reduction into a part of a variable");
      d.reductions.push_back({op, name->ToString()});
    }
  }

  /// `+`, `*`, `min` or `max`; empty for others.
  static std::string operation(const fp::OmpReductionIdentifier& id) {
    using Op = fp::DefinedOperator::IntrinsicOperator;
    if (const auto* o = std::get_if<fp::DefinedOperator>(&id.u)) {
      const auto* known = std::get_if<Op>(&o->u);
      return !known ? "" : *known == Op::Add ? "+" : *known == Op::Multiply ? "*" : "";
    }
    const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(id.u).u);
    const std::string text = name ? name->ToString() : "";
    return text == "min" || text == "max" ? text : "";
  }

  /// The arms' conditions exclude each other, so the default may stand anywhere: it goes last.
  void select(const fp::CaseConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::SelectCaseStmt>>(x.t);
    const Span at = places_.of(head.source);
    const Expr of = value(std::get<fp::Scalar<fp::Expr>>(head.statement.t).thing, at);
    Choice c;
    Choice::Arm otherwise;
    for (const auto& arm : std::get<std::list<fp::CaseConstruct::Case>>(x.t)) {
      const auto& test = std::get<fp::Statement<fp::CaseStmt>>(arm.t);
      const Span place = places_.of(test.source);
      auto body = std::make_shared<Body>(block(std::get<fp::Block>(arm.t), place));
      const auto& which = std::get<fp::CaseSelector>(test.statement.t).u;
      const auto* ranges = std::get_if<std::list<fp::CaseValueRange>>(&which);
      if (!ranges) {
        otherwise.body = std::move(body);
        continue;
      }
      Exprs any;
      for (const fp::CaseValueRange& r : *ranges) any.push_back(within(of, r, place));
      c.arms.push_back({any.size() == 1 ? any[0] : Expr(Nary{NaryOp::Or, any}, place), body});
    }
    if (otherwise.body && c.arms.empty()) {
      out.insert(out.end(), otherwise.body->begin(), otherwise.body->end());
      return;
    }
    if (otherwise.body) c.arms.push_back(std::move(otherwise));
    if (!c.arms.empty()) out.push_back({at, std::move(c)});
  }

  Expr within(const Expr& of, const fp::CaseValueRange& range, const Span& at) const {
    const auto test = [&](CompareOp op, const fp::CaseValue& v) {
      const Expr limit = value(v.thing.thing.value(), at);
      if (!limit.as<BoolLit>()) return Expr(Compare{op, of, limit}, at);
      return limit.as<BoolLit>()->value ? of : negation(of);
    };
    return std::visit(
        Fortran::common::visitors{[&](const fp::CaseValue& v) { return test(CompareOp::Eq, v); },
                                  [&](const fp::CaseValueRange::Range& r) {
                                    Exprs both;
                                    const auto& [lower, upper] = r.t;
                                    if (lower) both.push_back(test(CompareOp::Ge, *lower));
                                    if (upper) both.push_back(test(CompareOp::Le, *upper));
                                    return conjunction(both);
                                  }},
        range.u);
  }

  const Places& places_;
  std::vector<std::string> loops_;  // around the statement at hand; the names that they have
};

// ---- Files.

class Units {
 public:
  explicit Units(const Places& places) : places_(places) {}

  std::vector<Routine> read(const fp::Program& program) {
    for (const fp::ProgramUnit& u : program.v) {
      std::visit(Fortran::common::visitors{
                     [&](const Fortran::common::Indirection<fp::SubroutineSubprogram>& x) {
                       guard([&] { subroutine(x.value()); });
                     },
                     [&](const Fortran::common::Indirection<fp::Module>& x) { module(x.value()); },
                     [&](const Fortran::common::Indirection<fp::FunctionSubprogram>& x) {
                       guard([&] { function(x.value()); });
                     },
                     [&](const Fortran::common::Indirection<fp::MainProgram>& x) {
                       guard([&] {
                         const auto& head = std::get<0>(x.value().t);
                         unsupported(head ? places_.of(head->source) : Span{}, "a main program");
                       });
                     },
                     [&](const auto&) {}},
                 u.u);
    }
    if (!errors_.empty()) throw Error(errors_);
    return std::move(routines_);
  }

 private:
  template <typename F>
  void guard(F f) {
    try {
      f();
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }

  void module(const fp::Module& m) {
    const auto& part = std::get<std::optional<fp::ModuleSubprogramPart>>(m.t);
    if (!part) return;
    for (const fp::ModuleSubprogram& s : std::get<std::list<fp::ModuleSubprogram>>(part->t))
      std::visit(Fortran::common::visitors{
                     [&](const Fortran::common::Indirection<fp::SubroutineSubprogram>& x) {
                       guard([&] { subroutine(x.value()); });
                     },
                     [&](const Fortran::common::Indirection<fp::FunctionSubprogram>& x) {
                       guard([&] { function(x.value()); });
                     },
                     [&](const auto&) {}},
                 s.u);
  }

  void subroutine(const fp::SubroutineSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    routine(s, std::get<fp::Name>(head.statement.t), nullptr);
  }

  void function(const fp::FunctionSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(s.t);
    const fp::Name& name = std::get<fp::Name>(head.statement.t);
    const auto& details = name.symbol->GetUltimate().get<sem::SubprogramDetails>();
    routine(s, name, &details.result());
  }

  /// `result`: of a function.
  template <typename Subprogram>
  void routine(const Subprogram& s, const fp::Name& name, const sem::Symbol* result) {
    const Span at = places_.of(name.source);
    if (const auto& inner = std::get<std::optional<fp::InternalSubprogramPart>>(s.t))
      for (const fp::InternalSubprogram& i : std::get<std::list<fp::InternalSubprogram>>(inner->t))
        (void)i, unsupported(at, "`contains` in a routine");
    Routine r;
    r.name = name.symbol->name().ToString();
    r.at = at;
    const auto& details = name.symbol->GetUltimate().get<sem::SubprogramDetails>();
    for (const sem::Symbol* dummy : details.dummyArgs()) {
      if (!dummy) unsupported(at, "an alternate return");
      r.arguments.push_back(dummy->name().ToString());
    }
    if (result) {
      if (result->Rank() > 0) unsupported(at, "a function whose result is an array");
      r.function = true;
      r.arguments.push_back(result->name().ToString());
    }
    Declarations(places_, r).read(DEREF(name.symbol->GetUltimate().scope()));
    for (const std::string& a : r.arguments)
      if (!r.variables.count(a)) unsupported(at, fmt::format("the dummy procedure `{}`", a));
    r.body = Reader(places_).block(std::get<fp::ExecutionPart>(s.t).v, at);
    routines_.push_back(std::move(r));
  }

  const Places& places_;
  std::vector<Routine> routines_;
  std::vector<Diagnostic> errors_;
};

/// Flang's messages of errors; of warnings none.
void collect(fp::Messages& messages, const Places& places, const fp::AllCookedSources& cooked,
             std::vector<Diagnostic>& out) {
  for (const fp::Message& m : messages.messages())
    if (m.IsFatal())
      out.push_back(
          {"fortran", m.ToString(), {places.of(m.GetProvenanceRange(cooked)), {}}, {}, {}});
}

/// The file under its own name where that is what it holds, else a copy.
class File {
 public:
  explicit File(const Source* source, bool fixed, bool preprocessed) {
    namespace fs = std::filesystem;
    std::error_code none;
    if (fs::is_regular_file(source->name, none)) {
      std::ifstream in(source->name, std::ios::binary);
      if (std::string(std::istreambuf_iterator<char>(in), {}) == source->text) {
        path_ = source->name;
        return;
      }
    }
    const char* temporary = std::getenv("TMPDIR");
    std::string pattern = std::string(temporary && *temporary ? temporary : "/tmp") +
                          "/moonloop-XXXXXX" +
                          (fixed          ? (preprocessed ? ".F" : ".f")
                           : preprocessed ? ".F90"
                                          : ".f90");
    const int end = fixed ? 2 : 4;
    const int file = mkstemps(pattern.data(), end);
    if (file < 0) fail("cannot-write", {}, "cannot make a file as `{}`", pattern);
    close(file);
    std::ofstream out(pattern, std::ios::binary);
    out << source->text;
    out.close();
    if (!out) {
      std::remove(pattern.c_str());
      fail("cannot-write", {}, "cannot write `{}`", pattern);
    }
    path_ = pattern;
    copied_ = true;
  }
  ~File() {
    if (copied_) std::remove(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool copied_ = false;
};

}  // namespace

Span Places::of(fp::CharBlock block) const {
  const auto range = cooked_.GetProvenanceRange(block);
  return range ? of(range) : Span{};
}

Span Places::of(const std::optional<fp::ProvenanceRange>& range) const {
  if (!range) return {};
  const auto& all = cooked_.allSources();
  const auto position = all.GetSourcePosition(all.GetReplacedProvenance(range->start()));
  if (!position) return {};
  const fp::SourceFile& file = *position->sourceFile;
  const std::string path = std::filesystem::path(file.path()).lexically_normal().string();
  const auto [it, included] = sources_.try_emplace(path);
  if (included) it->second = add_source(path, {file.content().data(), file.content().size()});
  Span at;
  at.source = it->second;
  at.line = position->trueLineNumber;
  at.col = position->column;
  const auto line = at.source->line(at.line);
  const auto left = static_cast<std::size_t>(at.col) <= line.size()
                        ? static_cast<int>(line.size()) - at.col + 1
                        : 1;
  at.len = std::max(1, std::min(static_cast<int>(range->size()), left));
  return at;
}

std::vector<Routine> read_routines(const Source* source, const Preprocessing& how) {
  const std::string& name = source->name;
  const bool fixed = is_fixed_form(source);
  const File file(source, fixed, name.ends_with(".F") || name.ends_with(".F90"));
  fp::Options options;
  options.isFixedForm = fixed;
  options.features.Enable(Fortran::common::LanguageFeature::OpenMP);
  options.features.Enable(Fortran::common::LanguageFeature::OpenACC);
  options.intrinsicModuleDirectories = {MOONLOOP_FLANG_MODULES};
  options.searchDirectories = how.include_folders;
  for (const auto& [key, value] : how.defines) options.predefinitions.emplace_back(key, value);

  fp::AllSources all;
  fp::AllCookedSources cooked{all};
  fp::Parsing parsing{cooked};
  const Places places(source, std::filesystem::path(file.path()).lexically_normal().string(),
                      cooked);
  std::vector<Diagnostic> errors;
  parsing.Prescan(file.path(), options);
  collect(parsing.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  parsing.Parse(llvm::nulls());
  collect(parsing.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  if (!parsing.parseTree() || !parsing.consumedWholeFile())
    fail("fortran", {}, "`{}` cannot be parsed to its end", name);

  const Fortran::common::IntrinsicTypeDefaultKinds kinds;
  Fortran::common::LangOptions language;
  language.OpenMPVersion = 52;
  sem::SemanticsContext context{kinds, options.features, language, cooked};
  context.set_intrinsicModuleDirectories(options.intrinsicModuleDirectories)
      .set_searchDirectories(options.searchDirectories);
  sem::Semantics semantics{context, *parsing.parseTree()};
  semantics.Perform();
  collect(context.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  return Units(places).read(*parsing.parseTree());
}

}  // namespace moonloop::fortran
