#pragma once
#include <functional>

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// A reduction of the region around is one of the loop `s`, where that assigns its variable.
void share(const Directive::Reduction& r, Statement& s);

/// A private variable of the region around is one of each loop with a directive that sets it before
/// it uses it; what such a loop only accumulates into is a reduction of it, as each thread has a
/// part.
void share_privates(const Routine& routine, const Directive& region, Body& body);

/// An assignment of `variable` that is not in a loop with a directive.
Span assigned_alone(const Body& body, const std::string& variable);

/// A use of OpenMP's functions, on whose answers the work of each thread depends.
Span asks_who_runs(const Body& body);

/// The same directive with other names; those that `name` makes empty are left out.
std::shared_ptr<const Directive> renamed(
    const Directive& d, const std::function<std::string(const std::string&)>& name);

/// A variable that each thread has of its own, with the value from before: where something assigns
/// it, `body` gets another one. Fails `unsupported` for characters.
void keep_firstprivate(const Directive& d, Routine& routine, Body& body);

/// Tells the directives of loops, whose region is not in the routine, of its arrays that they
/// change.
void note_per_thread(Routine& r);

/// The operation, `+`, `*`, `min` or `max`, of `x = x + e`, `x = max(x, e)` and the like, where
/// neither `e` nor the subscripts of `x` have `x`; empty for others.
std::string update_of(const Assignment& a);

/// The variables that statements may assign.
std::set<std::string> changed_in(const Body& body);

}  // namespace moonloop::fortran
