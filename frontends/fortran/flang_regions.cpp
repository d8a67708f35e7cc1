#include "frontends/fortran/flang_regions.h"

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_parts.h"
#include "frontends/fortran/regions.h"

// What directives around statements and loops make of these.
namespace moonloop::fortran {

void DirectiveReader::openmp(const fp::OpenMPConstruct& x, Body& out) {
  const Span place = places_.of(fp::FindSourceLocation(x));
  if (const auto* atomic = std::get_if<fp::OpenMPAtomicConstruct>(&x.u)) {
    routine_.home.team.updates |= teams_ == 0;
    return updated_at_once(*atomic, place, out);
  }
  if (const auto* region = std::get_if<fp::OmpBlockConstruct>(&x.u))
    return openmp_block(*region, out);
  if (const auto* alone = std::get_if<fp::OpenMPStandaloneConstruct>(&x.u)) {
    if (std::holds_alternative<fp::OpenMPFlushConstruct>(alone->u))  // memory is one
      return by_one_thread(place, "flush");
    if (const auto* simple = std::get_if<fp::OpenMPSimpleStandaloneConstruct>(&alone->u)) {
      if (simple->v.DirId() == llvm::omp::Directive::OMPD_barrier) share_work(place, false);
      return check_standalone(simple->v, places_);
    }
  }
  if (const auto* sections = std::get_if<fp::OpenMPSectionsConstruct>(&x.u))
    return in_sequence(*sections, out);
  if (const auto* critical = std::get_if<fp::OpenMPCriticalConstruct>(&x.u))
    return one_at_a_time(*critical, place, out);
  const auto* construct = std::get_if<fp::OpenMPLoopConstruct>(&x.u);
  if (!construct) unsupported(place, "this directive of OpenMP");
  Directive d = read_directive(construct->BeginDir(), places_);
  const llvm::omp::Directive id = construct->BeginDir().DirId();
  d.orphaned = regions_ == 0 && needs_region(id);
  const int around = teams_;
  if (needs_region(id))
    share_work(place, d.reductions.empty());
  else if (id != llvm::omp::Directive::OMPD_simd)
    begin_team();
  if (construct->EndDir()) read_end_of_directive(*construct->EndDir(), places_);
  directed(std::move(d), construct->GetNestedLoop(), out);
  teams_ = around;
  if (const Span at = asks_who_runs({out.back()}))
    unsupported(at, "a question for the number of a thread");
  for (const Directive::Reduction& r : region_reductions_) share(r, out.back());
}

void DirectiveReader::in_sequence(const fp::OpenMPSectionsConstruct& x, Body& out) {
  const Directive d = read_region(x.BeginDir(), places_);
  note_unheeded(d);
  if (x.EndDir()) read_end_of_directive(*x.EndDir(), places_);
  const int around = teams_;
  share_work_of(x.BeginDir().DirId(), d.at);
  Body inside;
  for (const fp::OpenMPConstruct& c : std::get<std::list<fp::OpenMPConstruct>>(x.t))
    append(block(std::get<fp::Block>(std::get<fp::OpenMPSectionConstruct>(c.u).t), d.at), inside);
  teams_ = around;
  keep_firstprivate(d, routine_, inside);
  append(std::move(inside), out);
}

void DirectiveReader::share_work_of(llvm::omp::Directive id, const Span& at) {
  switch (id) {
    case llvm::omp::Directive::OMPD_single:
    case llvm::omp::Directive::OMPD_sections:
    case llvm::omp::Directive::OMPD_workshare: return share_work(at, false);
    case llvm::omp::Directive::OMPD_master:
    case llvm::omp::Directive::OMPD_masked: return by_one_thread(at, "master");
    case llvm::omp::Directive::OMPD_ordered: return by_one_thread(at, "ordered");
    case llvm::omp::Directive::OMPD_target_data: return;
    default: begin_team();
  }
}

void DirectiveReader::openmp_block(const fp::OmpBlockConstruct& x, Body& out) {
  const auto& begin = x.BeginDir();
  const Directive d = read_region(begin, places_);
  note_unheeded(d);
  if (x.EndDir()) read_end_of_directive(*x.EndDir(), places_);
  const auto around = region_reductions_;
  region_reductions_.insert(region_reductions_.end(), d.reductions.begin(), d.reductions.end());
  const int teams = teams_;
  share_work_of(begin.DirId(), d.at);
  ++regions_;
  Body inside = block(std::get<fp::Block>(x.t), d.at);
  --regions_, teams_ = teams;
  region_reductions_ = around;
  finish_region(d, inside);
  if (const Span at = asks_who_runs(inside))
    unsupported(at, "a question for the number of a thread");
  append(std::move(inside), out);
}

void DirectiveReader::finish_region(const Directive& d, Body& inside) {
  keep_firstprivate(d, routine_, inside);
  check_private(d);
  share_privates(routine_, d, inside);
  for (const Directive::Reduction& r : d.reductions)
    if (const Span at = assigned_alone(inside, r.variable))
      unsupported(at, fmt::format("`{}`, which `reduction` names, assigned outside of a loop that "
                                  "threads share",
                                  r.variable));
}

void DirectiveReader::openacc(const fp::OpenACCConstruct& x, Body& out) {
  const auto loop_of = [](const std::optional<fp::DoConstruct>& d) { return d ? &*d : nullptr; };
  if (const auto* c = std::get_if<fp::OpenACCCombinedConstruct>(&x.u)) {
    const auto& begin = std::get<fp::AccBeginCombinedDirective>(c->t);
    return directed(read_directive(begin, places_),
                    loop_of(std::get<std::optional<fp::DoConstruct>>(c->t)), out);
  }
  if (const auto* c = std::get_if<fp::OpenACCLoopConstruct>(&x.u)) {
    const auto& begin = std::get<fp::AccBeginLoopDirective>(c->t);
    directed(read_directive(begin, places_),
             loop_of(std::get<std::optional<fp::DoConstruct>>(c->t)), out);
    for (const Directive::Reduction& r : region_reductions_) share(r, out.back());
    return;
  }
  if (const auto* atomic = std::get_if<fp::OpenACCAtomicConstruct>(&x.u))
    return updated_at_once(*atomic, out);
  if (std::holds_alternative<fp::OpenACCWaitConstruct>(x.u)) return;  // the host waits anyway
  if (const auto* alone = std::get_if<fp::OpenACCStandaloneConstruct>(&x.u))
    return check_standalone(*alone, places_);
  if (const auto* b = std::get_if<fp::OpenACCBlockConstruct>(&x.u)) {
    const auto& begin = std::get<fp::AccBeginBlockDirective>(b->t);
    const Directive d = read_region(begin, places_);
    note_unheeded(d);
    const auto around = region_reductions_;
    region_reductions_.insert(region_reductions_.end(), d.reductions.begin(), d.reductions.end());
    Body inside = block(std::get<fp::Block>(b->t), d.at);
    region_reductions_ = around;
    finish_region(d, inside);
    return append(std::move(inside), out);
  }
  unsupported(places_.of(fp::FindSourceLocation(x)), "this directive of OpenACC",
              "`parallel loop`, `kernels loop` and `loop` are");
}

void DirectiveReader::check_private(const Directive& d) const {
  for (const std::string& name : d.privates)
    if (routine_.boxed.contains(name))
      unsupported(d.at, fmt::format("`{}`, which Fortran keeps, in `private`", name));
}

void DirectiveReader::note_unheeded(const Directive& d) {
  auto& all = routine_.without_effect;
  all.insert(all.end(), d.without_effect.begin(), d.without_effect.end());
}

void DirectiveReader::directed(Directive d, const fp::DoConstruct* inside, Body& out) {
  note_unheeded(d);
  check_private(d);
  if (!inside) unsupported(d.at, "a directive without a loop below it");
  const bool around = std::exchange(kept_apart_, false);
  loop(*inside, out);
  d.kept_apart = kept_apart_;
  kept_apart_ = kept_apart_ || around;
  auto* made = std::get_if<Do>(&out.back().what);
  if (!made) unsupported(d.at, "a directive above `do concurrent`");
  if (!d.tag.empty()) made->directive = std::make_shared<const Directive>(std::move(d));
}

void DirectiveReader::updated_at_once(const fp::OpenMPAtomicConstruct& x, const Span& at,
                                      Body& out) {
  const bool update =
      !x.IsCapture() && !x.IsCompare() && x.GetKind() == llvm::omp::Clause::OMPC_update;
  at_once(block(std::get<fp::Block>(x.t), at), update, at, out);
}

void DirectiveReader::updated_at_once(const fp::OpenACCAtomicConstruct& x, Body& out) {
  for (const AtomicStep& step : steps_of(x)) {
    const Span at = places_.of(step.statement->source);
    Body body;
    assignment(step.statement->statement, at, body);
    at_once(std::move(body), step.update, at, out);
  }
}

void DirectiveReader::at_once(Body body, bool update, const Span& at, Body& out) {
  for (Statement& s : body) {
    auto* a = std::get_if<Assignment>(&s.what);
    if (update && !a) unsupported(at, "an atomic directive above this statement");
    if (update) a->atomic = true;
    out.push_back(std::move(s));
  }
  if (!update) keep_apart();
}

namespace {

/// The name of a critical section; empty for the one without.
std::string name_of_critical(const fp::OpenMPCriticalConstruct& x) {
  std::string text;
  for (const char c : x.BeginDir().source.ToString())
    if (c != ' ' && c != '\t')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::string_view kWord = "critical(";
  if (!text.starts_with(kWord)) return "";
  return text.substr(kWord.size(), text.find(')') - kWord.size());
}

}  // namespace

void DirectiveReader::one_at_a_time(const fp::OpenMPCriticalConstruct& x, const Span& at,
                                    Body& out) {
  if (teams_ == 0) routine_.home.team.criticals.push_back(name_of_critical(x));
  for (Statement s : block(std::get<fp::Block>(x.t), at)) {
    auto* a = std::get_if<Assignment>(&s.what);
    if (a) a->atomic = a->atomic || !update_of(*a).empty();
    if (!a || !a->atomic) keep_apart();
    out.push_back(std::move(s));
  }
}

}  // namespace moonloop::fortran
