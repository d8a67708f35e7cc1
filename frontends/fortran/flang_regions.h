#pragma once
#include "frontends/fortran/flang.h"

namespace moonloop::fortran {

/// Reads what directives are around. The statements there are its heir's matter.
class DirectiveReader {
 public:
  DirectiveReader(const DirectiveReader&) = delete;
  DirectiveReader& operator=(const DirectiveReader&) = delete;

 protected:
  DirectiveReader(const Places& places, Routine& routine) : places_(places), routine_(routine) {}
  virtual ~DirectiveReader() = default;

  virtual Body block(const fp::Block& b, const Span& around) = 0;
  virtual void loop(const fp::DoConstruct& d, Body& out) = 0;
  virtual void assignment(const fp::AssignmentStmt& s, const Span& at, Body& out) = 0;

  void openmp(const fp::OpenMPConstruct& x, Body& out);
  void openacc(const fp::OpenACCConstruct& x, Body& out);

  const Places& places_;
  Routine& routine_;

 private:
  /// What a construct means to the threads of a team.
  void share_work_of(llvm::omp::Directive id, const Span& at);
  /// Sections, one after the other.
  void in_sequence(const fp::OpenMPSectionsConstruct& x, Body& out);
  /// `parallel`, and statements that run once within it. Its threads share the loops that say so;
  /// each of them runs the rest for itself, with the same result.
  void openmp_block(const fp::OmpBlockConstruct& x, Body& out);
  /// What the clauses of a region about variables mean for its statements.
  void finish_region(const Directive& d, Body& inside);
  void check_private(const Directive& d) const;
  void note_unheeded(const Directive& d);
  void directed(Directive d, const fp::DoConstruct* inside, Body& out);
  /// An update of one variable is atomic; a read and a write, and what a capture does, are in
  /// order, which a loop around them has to leave them in.
  void updated_at_once(const fp::OpenMPAtomicConstruct& x, const Span& at, Body& out);
  void updated_at_once(const fp::OpenACCAtomicConstruct& x, Body& out);
  void at_once(Body body, bool update, const Span& at, Body& out);
  /// Updates of one variable each are atomic; other statements are in order.
  void one_at_a_time(const fp::OpenMPCriticalConstruct& x, const Span& at, Body& out);

  std::vector<Directive::Reduction> region_reductions_;  // of `parallel` around it
  /// The threads of a team that begins elsewhere share what is here.
  void share_work(const Span& at, bool is_loop) {
    if (teams_ > 0) return;
    FortranTeam& team = routine_.home.team;
    if (!team.shares) team.at = at;
    team.shares = true;
    team.loops_alone = team.loops_alone && is_loop;
  }
  /// What one of them does, or each for itself.
  void by_one_thread(const Span& at, const char* what) {
    if (teams_ == 0 && !routine_.of_one_thread) routine_.of_one_thread = {at, what};
  }
  void begin_team() {
    ++teams_;
    routine_.begins_team = true;
  }

  void keep_apart() { kept_apart_ = routine_.kept_apart = true; }

  bool kept_apart_ = false;  // statements of the loop run for one thread at a time
  int regions_ = 0;          // of OpenMP around it
  int teams_ = 0;            // those of them that begin a team
};

}  // namespace moonloop::fortran
