#pragma once
#include "frontends/fortran/flang.h"

// Records as a whole: each component is a variable.
namespace moonloop::fortran {

/// The type of a record; fails `unsupported` for one that is known at run time alone.
const sem::DerivedTypeSpec& type_of_record(const ev::DynamicType& type, const Span& at);
/// The values, or places, of the components of an expression of a derived type.
Exprs derived_values(const ev::Expr<ev::SomeDerived>& e, const Span& at);
/// The values that a constant of a derived type gives the components, and theirs, of a record; of
/// an array of records each is an array of all.
struct DefaultValue {
  Expr value;
  int rank = 0;  // of the value: one alone is that of all elements
};
std::vector<DefaultValue> default_values(const SomeExpr& init, const Span& at);
/// The elements that each component of a constant has, and theirs, one after the other.
std::vector<Exprs> constant_values(const SomeExpr& init, const Span& at);
/// Adds how many axes each of a type's components has: its own, and the `around` ones of arrays
/// that it is in.
void axes_of_components(const sem::DerivedTypeSpec& type, std::size_t around, const Span& at,
                        std::vector<std::size_t>& out);
/// What an argument is that a call does not give; of a derived type one for each component.
Exprs absent_argument(const sem::Symbol* callee, std::size_t number, const Span& at);
/// The pieces of an assignment, one for each component.
std::vector<Assignment> to_assignments(const SomeExpr& to, const SomeExpr& value, const Span& at);
/// Makes statements, before those that have them, of the calls of functions that give records, of
/// which `all` are the routine's own. Fails `unsupported` for those in `where` and `forall`.
void put_record_calls(const fp::Block& all, const Places& places, Routine& routine);

}  // namespace moonloop::fortran
