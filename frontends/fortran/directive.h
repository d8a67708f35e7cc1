#pragma once
#include <string>
#include <vector>

#include "core/base/source.h"

/// What directives of compilers, OpenMP and OpenACC demand of a loop.
namespace moonloop::fortran {

/// A directive that no target heeds, such as UNROLL, or a clause that says how something runs, not
/// what it computes.
struct WithoutEffect {
  Span at;
  std::string clause;   // empty: the whole directive
  bool orders = false;  // because of the clause, the whole directive
};
/// The demands of a directive of OpenMP or OpenACC, or of IVDEP, on the loop below it.
struct Directive {
  Span at;
  std::string tag;  // of `loops` nested loops; `g`: the innermost one `g.0`
  int loops = 1;
  int lanes = 0;  // `safelen`: no more iterations run together; 0: any number
  struct Reduction {
    std::string op;  // `+`, `*`, `min`, `max`
    std::string variable;
  };
  std::vector<Reduction> reductions;
  std::vector<std::string> firstprivate, privates, lastprivates;
  /// Private variables of the region around, set there before the loop, that calls in it may
  /// change: each iteration begins with that value, in a copy of its own.
  std::vector<std::string> given;
  /// What each thread has of its own: `threadprivate` variables, and arrays of the routine where
  /// it calls the routine.
  std::vector<std::string> per_thread;
  /// IVDEP: dependences that the source does not show do not exist.
  bool claims = false;
  bool symbolic = false;    // then these include distances that arguments give
  bool in_order = false;    // a clause keeps the iterations in order
  bool kept_apart = false;  // statements inside run for one thread at a time: nothing is trusted
  bool orphaned = false;    // the region that shares the loop is not in the routine
  std::vector<WithoutEffect> without_effect;
};

}  // namespace moonloop::fortran
