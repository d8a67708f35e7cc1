#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// What is passed where a procedure is an argument: `procedure NAME` of one in another file,
/// `procedure MODULE::NAME`, with an argument where that is private, or `procedure &` of an
/// argument of the routine, whose value is an address.
inline constexpr const char* kProcedure = "procedure ";
/// The name of the callee in calls of such an argument, which is the first one passed.
inline constexpr const char* kThrough = "&";
/// Before the names of Fortran's own functions that C does not have.
inline constexpr const char* kIntrinsic = "intrinsic ";
/// Around the call of a function that gives a letter and that no file of the input has.
inline constexpr const char* kLetter = "letter ";

Expr procedure_named(const std::string& name, const Span& at, bool is_private = false);
Expr procedure_in(const Expr& argument, const Span& at);
bool is_procedure(const Expr& e);

/// Whether Fortran has to make the call, as C has no name for what it calls or passes.
bool is_for_fortran(const SubroutineCall& x);

/// As Fortran has it, `real(8)`. Fails `unsupported` for others than its own.
std::string type_in_fortran(const Type& t, const Span& at);

/// The type of an argument for a routine of the interface. `e` is `given` before it
/// became what is passed.
std::string declared_type(const Expr& e, const Expr& given, const Routine& r,
                          const std::vector<Routine>& all, const Span& at);

/// Makes calls of routines of the interface, which have the addresses of procedures, of those that
/// are for Fortran. Once calls are inlined.
void call_procedures(Routine& routine);

}  // namespace moonloop::fortran
