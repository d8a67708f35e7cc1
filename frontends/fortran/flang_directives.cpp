#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/names.h"

// Directives of OpenMP and OpenACC as demands on loops. Their clauses about variables and data are
// not taken on trust: private variables are proved to be so, or the step is refused, and data moves
// as the host code of each target moves it.
namespace moonloop::fortran {
namespace {

template <typename T>
int number(const T& e, const Span& at, const char* clause) {
  const SomeExpr* typed = sem::GetExpr(nullptr, e);
  const auto n = typed ? as_int(without_casts(to_expr(*typed, at))) : std::nullopt;
  if (!n || *n < 1) unsupported(at, fmt::format("this `{}`", clause));
  return static_cast<int>(*n);
}

/// The variable that an object of a clause is.
template <typename Object>
std::string variable(const Object& o, const Span& at, const char* clause) {
  const auto* designator = std::get_if<fp::Designator>(&o.u);
  const auto* ref = designator ? std::get_if<fp::DataRef>(&designator->u) : nullptr;
  const auto* name = ref ? std::get_if<fp::Name>(&ref->u) : nullptr;
  if (!name) unsupported(at, fmt::format("{} a part of a variable", clause));
  return name->symbol ? variable_name(*name->symbol) : name->ToString();
}

/// The loop has one order of its iterations, because of a clause.
void keep_order(Directive& d, const Span& at) {
  d.in_order = true;
  d.without_effect.push_back({at, {}, true});
}
void name_order(Directive& d, const std::string& clause) {
  for (WithoutEffect& w : d.without_effect)
    if (w.orders && w.clause.empty()) w.clause = clause;
}

// ---- OpenMP.

/// `+`, `*`, `min` or `max`; empty for others. Flang gets no `-`, see directive_text.h.
std::string operation(const fp::OmpReductionIdentifier& id) {
  using Op = fp::DefinedOperator::IntrinsicOperator;
  if (const auto* o = std::get_if<fp::DefinedOperator>(&id.u)) {
    const auto* known = std::get_if<Op>(&o->u);
    return !known ? "" : *known == Op::Add ? "+" : *known == Op::Multiply ? "*" : "";
  }
  const auto* name = std::get_if<fp::Name>(&std::get<fp::ProcedureDesignator>(id.u).u);
  const std::string text = name ? name->ToString() : "";
  return text == "min" || text == "max" ? text : "";
}

void reduction(const fp::OmpReductionClause& r, const Span& at, Directive& d) {
  std::string op;
  if (const auto& modifiers = std::get<0>(r.t))
    for (const auto& m : *modifiers)
      if (const auto* id = std::get_if<fp::OmpReductionIdentifier>(&m.u)) op = operation(*id);
  if (op.empty()) return keep_order(d, at);
  for (const fp::OmpObject& o : std::get<fp::OmpObjectList>(r.t).v)
    d.reductions.push_back({op, variable(o, at, "a reduction into")});
}

void clause(const fp::OmpClause& c, const Places& places, Directive& d) {
  const Span at = places.of(c.source);
  const auto unheeded = [&] { d.without_effect.push_back({at, c.source.ToString()}); };
  std::visit(Fortran::common::visitors{
                 [&](const fp::OmpClause::Private& x) {
                   for (const fp::OmpObject& o : x.v.v)
                     d.privates.push_back(variable(o, at, "`private` of"));
                 },
                 [&](const fp::OmpClause::Shared&) {},
                 [&](const fp::OmpClause::Default&) {},
                 [&](const fp::OmpClause::Firstprivate& x) {
                   for (const fp::OmpObject& o : x.v.v)
                     d.firstprivate.push_back(variable(o, at, "`firstprivate` of"));
                 },
                 [&](const fp::OmpClause::Lastprivate& x) {
                   for (const fp::OmpObject& o : std::get<fp::OmpObjectList>(x.v.t).v)
                     d.lastprivates.push_back(variable(o, at, "`lastprivate` of"));
                 },
                 [&](const fp::OmpClause::Map&) {},
                 [&](const fp::OmpClause::Defaultmap&) {},
                 [&](const fp::OmpClause::Nowait&) {},
                 [&](const fp::OmpClause::Depend&) {},  // statements are in order anyway
                 [&](const fp::OmpClause::Simdlen&) { unheeded(); },
                 [&](const fp::OmpClause::Safelen& x) { d.lanes = number(x.v, at, "safelen"); },
                 [&](const fp::OmpClause::Aligned&) { unheeded(); },
                 [&](const fp::OmpClause::Schedule& x) {
                   // Equal parts for all threads are the default.
                   using Kind = fp::OmpScheduleClause::Kind;
                   if (std::get<Kind>(x.v.t) != Kind::Static || std::get<2>(x.v.t)) unheeded();
                 },
                 [&](const fp::OmpClause::If&) { unheeded(); },
                 [&](const fp::OmpClause::Device&) { unheeded(); },
                 [&](const fp::OmpClause::Nontemporal&) { unheeded(); },
                 [&](const fp::OmpClause::Bind&) {},
                 [&](const fp::OmpClause::Order&) {},
                 [&](const fp::OmpClause::Ordered&) { keep_order(d, at); },
                 [&](const fp::OmpClause::Copyprivate&) {},  // there is one variable
                 [&](const fp::OmpClause::Copyin&) {},       // the calling thread's
                 [&](const fp::OmpClause::NumThreads&) { unheeded(); },
                 [&](const fp::OmpClause::NumTeams&) { unheeded(); },
                 [&](const fp::OmpClause::ThreadLimit&) { unheeded(); },
                 [&](const fp::OmpClause::DistSchedule&) { unheeded(); },
                 [&](const fp::OmpClause::ProcBind&) { unheeded(); },
                 [&](const fp::OmpClause::Collapse& x) { d.loops = number(x.v, at, "collapse"); },
                 [&](const fp::OmpClause::Reduction& x) { reduction(x.v, at, d); },
                 [&](const auto&) {
                   unsupported(at, fmt::format("the clause `{}`", c.source.ToString()));
                 }},
             c.u);
  name_order(d, c.source.ToString());
}

// ---- OpenACC.

void reduction(const fp::AccObjectListWithReduction& r, const Span& at, Directive& d) {
  using Op = fp::ReductionOperator::Operator;
  const Op op = std::get<fp::ReductionOperator>(r.t).v;
  const std::string name = op == Op::Plus       ? "+"
                           : op == Op::Multiply ? "*"
                           : op == Op::Max      ? "max"
                           : op == Op::Min      ? "min"
                                                : "";
  if (name.empty()) return keep_order(d, at);
  for (const fp::AccObject& o : std::get<fp::AccObjectList>(r.t).v)
    d.reductions.push_back({name, variable(o, at, "a reduction into")});
}

void clause(const fp::AccClause& c, const Places& places, Directive& d) {
  const Span at = places.of(c.source);
  const auto unheeded = [&] { d.without_effect.push_back({at, c.source.ToString()}); };
  using Clause = fp::AccClause;
  std::visit(
      Fortran::common::visitors{
          [&](const Clause::Collapse& x) { d.loops = number(std::get<1>(x.v.t), at, "collapse"); },
          [&](const Clause::Reduction& x) { reduction(x.v, at, d); },
          [&](const Clause::Seq&) { d.tag.clear(); },
          [](const Clause::Gang&) {},
          [](const Clause::Worker&) {},
          [](const Clause::Vector&) {},
          [](const Clause::Independent&) {},
          [](const Clause::Auto&) {},
          [&](const Clause::Private& x) {
            for (const fp::AccObject& o : x.v.v)
              d.privates.push_back(variable(o, at, "`private` of"));
          },
          [](const Clause::Default&) {},
          [](const Clause::Copy&) {},
          [](const Clause::Copyin&) {},
          [](const Clause::Copyout&) {},
          [](const Clause::Create&) {},
          [](const Clause::Present&) {},
          [](const Clause::NoCreate&) {},
          [](const Clause::Delete&) {},
          [](const Clause::Host&) {},
          [](const Clause::Device&) {},
          [&](const Clause::Firstprivate& x) {
            for (const fp::AccObject& o : x.v.v)
              d.firstprivate.push_back(variable(o, at, "`firstprivate` of"));
          },
          [](const Clause::Wait&) {},  // the host waits anyway
          [&](const Clause::Async&) { unheeded(); },
          [&](const Clause::If&) { unheeded(); },
          [&](const Clause::Self&) { unheeded(); },
          [&](const Clause::DeviceType&) { unheeded(); },
          [&](const Clause::Tile& x) {
            d.loops = static_cast<int>(x.v.v.size());
            unheeded();
          },
          [&](const Clause::NumGangs&) { unheeded(); },
          [&](const Clause::NumWorkers&) { unheeded(); },
          [&](const Clause::VectorLength&) { unheeded(); },
          [&](const auto&) {
            unsupported(at, fmt::format("the clause `{}`", c.source.ToString()));
          }},
      c.u);
  name_order(d, c.source.ToString());
}

Directive openacc(const fp::AccClauseList& clauses, const Span& at, const Places& places) {
  Directive d;
  d.at = at;
  d.tag = "g";
  for (const fp::AccClause& c : clauses.v) clause(c, places, d);
  if (!d.tag.empty() && !d.reductions.empty()) d.tag = "par";  // groups share none
  if (d.in_order) d.tag.clear();
  return d;
}

}  // namespace

Directive read_directive(const fp::OmpDirectiveSpecification& x, const Places& places) {
  Directive d;
  d.at = places.of(x.source);
  switch (x.DirId()) {
    case llvm::omp::Directive::OMPD_do:
    case llvm::omp::Directive::OMPD_do_simd:
    case llvm::omp::Directive::OMPD_loop:
    case llvm::omp::Directive::OMPD_parallel_do:
    case llvm::omp::Directive::OMPD_parallel_do_simd:
    case llvm::omp::Directive::OMPD_parallel_loop: d.tag = "par"; break;
    case llvm::omp::Directive::OMPD_simd: d.tag = "simd"; break;
    case llvm::omp::Directive::OMPD_distribute:
    case llvm::omp::Directive::OMPD_distribute_simd:
    case llvm::omp::Directive::OMPD_distribute_parallel_do:
    case llvm::omp::Directive::OMPD_distribute_parallel_do_simd:
    case llvm::omp::Directive::OMPD_teams_distribute:
    case llvm::omp::Directive::OMPD_teams_distribute_simd:
    case llvm::omp::Directive::OMPD_teams_distribute_parallel_do:
    case llvm::omp::Directive::OMPD_teams_distribute_parallel_do_simd:
    case llvm::omp::Directive::OMPD_teams_loop:
    case llvm::omp::Directive::OMPD_target_loop:
    case llvm::omp::Directive::OMPD_target_parallel_loop:
    case llvm::omp::Directive::OMPD_target_teams_loop:
    case llvm::omp::Directive::OMPD_target_simd:
    case llvm::omp::Directive::OMPD_target_parallel_do:
    case llvm::omp::Directive::OMPD_target_parallel_do_simd:
    case llvm::omp::Directive::OMPD_target_teams_distribute:
    case llvm::omp::Directive::OMPD_target_teams_distribute_simd:
    case llvm::omp::Directive::OMPD_target_teams_distribute_parallel_do:
    case llvm::omp::Directive::OMPD_target_teams_distribute_parallel_do_simd: d.tag = "g"; break;
    default: unsupported(d.at, "this directive of OpenMP");
  }
  for (const fp::OmpClause& c : x.Clauses().v) clause(c, places, d);
  if (d.tag == "g" && !d.reductions.empty()) d.tag = "par";  // groups share none
  if (d.in_order) d.tag.clear();
  // It says how far the iterations are apart that depend on each other.
  d.claims = d.lanes > 0 && d.tag == "simd";
  return d;
}

Directive read_region(const fp::OmpDirectiveSpecification& x, const Places& places) {
  Directive d;
  d.at = places.of(x.source);
  switch (x.DirId()) {
    case llvm::omp::Directive::OMPD_parallel:
    case llvm::omp::Directive::OMPD_single:
    case llvm::omp::Directive::OMPD_master:
    case llvm::omp::Directive::OMPD_masked:
    case llvm::omp::Directive::OMPD_ordered:
    case llvm::omp::Directive::OMPD_target:
    case llvm::omp::Directive::OMPD_teams:
    case llvm::omp::Directive::OMPD_target_teams:
    case llvm::omp::Directive::OMPD_target_parallel:
    case llvm::omp::Directive::OMPD_sections:
    case llvm::omp::Directive::OMPD_parallel_sections:
    case llvm::omp::Directive::OMPD_workshare:
    case llvm::omp::Directive::OMPD_parallel_workshare:
    case llvm::omp::Directive::OMPD_target_data: break;
    default: unsupported(d.at, "this directive of OpenMP");
  }
  for (const fp::OmpClause& c : x.Clauses().v) clause(c, places, d);
  return d;
}

Directive read_region(const fp::AccBeginBlockDirective& x, const Places& places) {
  Directive d;
  d.at = places.of(x.source);
  if (std::get<fp::AccBlockDirective>(x.t).v == llvm::acc::Directive::ACCD_host_data)
    unsupported(d.at, "`host_data` of OpenACC");
  for (const fp::AccClause& c : std::get<fp::AccClauseList>(x.t).v) clause(c, places, d);
  return d;
}

void check_standalone(const fp::OmpDirectiveSpecification& x, const Places& places) {
  switch (x.DirId()) {
    case llvm::omp::Directive::OMPD_barrier:
    case llvm::omp::Directive::OMPD_taskwait:
    case llvm::omp::Directive::OMPD_target_enter_data:
    case llvm::omp::Directive::OMPD_target_exit_data:
    case llvm::omp::Directive::OMPD_target_update: return;
    default: unsupported(places.of(x.source), "this directive of OpenMP");
  }
}

void check_standalone(const fp::OpenACCStandaloneConstruct& x, const Places& places) {
  switch (std::get<fp::AccStandaloneDirective>(x.t).v) {
    case llvm::acc::Directive::ACCD_enter_data:
    case llvm::acc::Directive::ACCD_exit_data:
    case llvm::acc::Directive::ACCD_update: return;
    default: unsupported(places.of(x.source), "this directive of OpenACC");
  }
}

void read_end_of_directive(const fp::OmpDirectiveSpecification& x, const Places& places) {
  for (const fp::OmpClause& c : x.Clauses().v)
    if (!std::holds_alternative<fp::OmpClause::Nowait>(c.u) &&
        !std::holds_alternative<fp::OmpClause::Copyprivate>(c.u))
      unsupported(places.of(c.source), fmt::format("the clause `{}`", c.source.ToString()));
}

Directive read_directive(const fp::AccBeginCombinedDirective& x, const Places& places) {
  const Span at = places.of(x.source);
  Directive d = openacc(std::get<fp::AccClauseList>(x.t), at, places);
  if (std::get<fp::AccCombinedDirective>(x.t).v == llvm::acc::Directive::ACCD_serial_loop)
    d.tag.clear();
  return d;
}

Directive read_directive(const fp::AccBeginLoopDirective& x, const Places& places) {
  return openacc(std::get<fp::AccClauseList>(x.t), places.of(x.source), places);
}

std::vector<AtomicStep> steps_of(const fp::OpenACCAtomicConstruct& x) {
  using Assigned = fp::Statement<fp::AssignmentStmt>;
  return std::visit(Fortran::common::visitors{
                        [](const fp::AccAtomicCapture& c) {
                          return std::vector<AtomicStep>{
                              {&std::get<fp::AccAtomicCapture::Stmt1>(c.t).v, false},
                              {&std::get<fp::AccAtomicCapture::Stmt2>(c.t).v, false}};
                        },
                        [](const fp::AccAtomicUpdate& u) {
                          return std::vector<AtomicStep>{{&std::get<Assigned>(u.t), true}};
                        },
                        [](const auto& other) {
                          return std::vector<AtomicStep>{{&std::get<Assigned>(other.t), false}};
                        }},
                    x.u);
}

}  // namespace moonloop::fortran
