#pragma once
#include "frontends/fortran/flang_boxes.h"

namespace moonloop::fortran {

/// Variables of modules, and their components, that a routine gives other memory, itself or by
/// calls, or asks whether they have some: `state::u` by its symbol, `state::p%x` by the
/// component's. C has addresses and bounds from before, so that statements which use them stay
/// Fortran, and so do calls of what uses them.
struct Moved {
  OwnEffects::Names variables;
  const ProcedureEffects* procedures = nullptr;
  Boxes boxes;                   // of variables of the routine's own, which are among `variables`
  std::set<const ev::Assignment*> same_shape;  // see assignments_of_same_shape
  bool boxed_functions = false;  // it calls some that only Fortran can call, or take a value of
};
Moved moved_in(const fp::Block& block, const ProcedureEffects& procedures, Boxes boxes);
bool uses(const fp::ActionStmt& s, const Moved& moved);
bool uses(const fp::Expr& e, const Moved& moved);
/// Whether it assigns a logical variable that is not one of them.
bool assigns_flag(const fp::AssignmentStmt& s, const Moved& moved);
/// Whether it is `present`, which C knows.
bool is_present(const fp::Call& c);
/// The text of a construct that uses such variables, and whose statements do not leave it.
std::optional<fp::CharBlock> whole_with(const fp::ExecutableConstruct& c, const Moved& moved);
/// The same of a `block`, with its declarations.
std::optional<fp::CharBlock> text_of_block(const fp::BlockConstruct& x);

/// As in flang.h, where such variables are known by their names.
OutputStatement read_kept(const fp::ActionStmt& s, std::string_view what, fp::CharBlock source,
                          const Span& at, const Moved& moved);
/// A call; one that only Fortran can make is a statement that stays.
OutputStatement read_call(const fp::CallStmt& s, const fp::ActionStmt& whole, fp::CharBlock source,
                          const Span& at, const Moved& moved);
/// Nothing where `skip_output` leaves it out.
OutputStatement read_print(const fp::PrintStmt& s, const fp::ActionStmt& whole,
                           fp::CharBlock source, const Span& at, const Moved& moved);
std::optional<OutputStatement> read_write(const fp::WriteStmt& s, const fp::ActionStmt& whole,
                                          fp::CharBlock source, const Span& at, bool skip_output,
                                          const Moved& moved);
/// A construct, of this text; `block`: the scope of one that has its own variables.
OutputStatement read_kept(const fp::ExecutableConstruct& c, fp::CharBlock source, const Span& at,
                          const Moved& moved, const sem::Scope* block = nullptr);
/// The value of a number, or whether a condition holds as an integer. The call's last argument,
/// which is null here, is a variable of that type that gets it.
struct KeptValue {
  OutputStatement statement;
  Type type;
  bool logical = false;
};
KeptValue read_kept_value(const fp::Expr& e, const Span& at, const Moved& moved);

}  // namespace moonloop::fortran
