#pragma once
#include <concepts>
#include <type_traits>

#include "frontends/fortran/output.h"

namespace moonloop::fortran {

/// A routine's uses of its names.
struct Uses {
  std::set<std::string> assigned;  // by statements; a call of another file may assign its arguments
  std::set<std::string> read;
  std::set<std::string> loops;   // variables of loops
  std::set<std::string> behind;  // those of them that are read where their loop does not run
};
Uses uses_of(const Routine& routine);

/// Whether a call may change its argument of this number.
bool may_change_argument(const SubroutineCall& c, std::size_t number);

/// Whether a loop may count, or an array may have, more than integers of 32 bits hold: its variable
/// or something that its bounds mention is an integer of 64 bits.
bool counts_in_64_bits(const Routine& routine);

/// `T` or `const T`.
template <typename X, typename T>
concept Is = std::same_as<std::remove_const_t<X>, T>;

/// Calls `visit` on all expressions of a statement itself, not of those within it. Some are null.
template <typename S, typename F>
requires Is<S, Statement>
void expressions(S& s, const F& visit) {
  std::visit(overload{[&](Is<Assignment> auto& a) { visit(a.to), visit(a.value); },
                      [&](Is<Do> auto& d) { visit(d.from), visit(d.to), visit(d.step); },
                      [&](Is<Choice> auto& c) {
                        for (auto& a : c.arms) visit(a.condition);
                      },
                      [](const Leave&) {}, [](const Stop&) {}, [](const Scope&) {},
                      [](const Jump&) {}, [](const Mark&) {},
                      [&](Is<PointerAssignment> auto& p) {
                        visit(p.target);
                        for (auto& e : p.lower) visit(e);
                      },
                      [&](Is<SubroutineCall> auto& x) {
                        for (auto& a : x.arguments) visit(a);
                        for (auto& other : x.otherwise)
                          for (auto& a : other.arguments) visit(a);
                        visit(x.result);
                      },
                      [&](Is<Where> auto& w) {
                        for (auto& a : w.arms) visit(a.mask);
                      },
                      [&](Is<Forall> auto& f) {
                        for (auto& r : f.ranges) visit(r.from), visit(r.to), visit(r.step);
                        visit(f.mask);
                      }},
             s.what);
}

/// Appends statements to others.
inline void append(Body more, Body& out) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Puts a choice, of its arms from `first` on. `condition` gives an arm's condition and what comes
/// before it, which runs where the conditions of earlier arms did not hold; `body` an arm's
/// statements.
template <typename Condition, typename Inner>
void put_choice(const Choice& c, std::size_t first, const Span& at, Body& out,
                const Condition& condition, const Inner& body) {
  Choice own;
  own.lasting = c.lasting;
  for (std::size_t i = first; i < c.arms.size(); ++i) {
    const Choice::Arm& a = c.arms[i];
    Body before;
    const Expr now = condition(a.condition, before);
    if (i > first && !before.empty()) {
      Body rest;
      put_choice(c, i, at, rest, condition, body);
      own.arms.push_back({Expr(), std::make_shared<Body>(std::move(rest))});
      break;
    }
    append(std::move(before), out);
    own.arms.push_back({now, std::make_shared<Body>(body(*a.body))});
  }
  out.push_back({at, std::move(own)});
}

/// The bodies within a statement.
std::vector<std::shared_ptr<Body>*> bodies(Statement& s);
std::vector<const std::shared_ptr<Body>*> bodies(const Statement& s);

/// Gives variables other names in a body of its own.
void rename_in(Body& body, const std::map<std::string, std::string>& names);

/// Calls `visit` on each statement, outer ones first.
/// Whether an assignment among the statements changes the variable.
bool is_assigned(const std::string& name, const Body& body);

template <typename F>
void each(const Body& body, const F& visit) {
  for (const Statement& s : body) {
    visit(s);
    if (const auto* d = std::get_if<Do>(&s.what)) each(*d->body, visit);
    if (const auto* c = std::get_if<Choice>(&s.what))
      for (const Choice::Arm& a : c->arms) each(*a.body, visit);
    if (const auto* x = std::get_if<Scope>(&s.what)) each(*x->body, visit);
  }
}

/// The subroutines and functions that statements call, with the places; not intrinsics.
std::vector<std::pair<std::string, Span>> calls_of(const Body& b);

/// The routines, by their bare names, that statements call as kernels of their own.
std::set<std::string> kernels_called(const Body& b);

/// The variable or element, or section, that `e` is in `r`; null for other expressions. A logical
/// one is compared with 0, see program.h.
Expr place_of(const Expr& e, const Routine& r);

}  // namespace moonloop::fortran
