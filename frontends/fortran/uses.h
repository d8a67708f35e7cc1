#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// What a routine does with its names.
struct Uses {
  std::set<std::string> assigned;  // by statements; a call of another file may assign its arguments
  std::set<std::string> read;
  std::set<std::string> loops;   // variables of loops
  std::set<std::string> behind;  // those of them that are read where their loop does not run
};
Uses uses_of(const Routine& routine);

/// Calls `visit` on each statement, outer ones first.
template <typename F>
void each(const Body& body, const F& visit) {
  for (const Statement& s : body) {
    visit(s);
    if (const auto* d = std::get_if<Do>(&s.what)) each(*d->body, visit);
    if (const auto* c = std::get_if<Choice>(&s.what))
      for (const Choice::Arm& a : c->arms) each(*a.body, visit);
  }
}

}  // namespace moonloop::fortran
