#pragma once
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// `i` of `i_2`.
std::string stem_of(const std::string& name);

/// A routine's name without the module that it is in.
std::string bare_name(const std::string& routine);
/// The same as a kernel's name: `solve_step` for `step` in `solve`.
std::string kernel_name(const std::string& routine);

/// A name like `base` that no variable has, `base_1` where one has it.
std::string fresh_name(const Routine& routine, const std::string& base);

/// A local variable of the type and shape of another one, wherever that is.
Variable local_like(const Variable& v, const std::string& name);

/// A new local scalar of a name like `base`.
Expr new_scalar(Routine& routine, const std::string& base, const Type& type, const Span& at);

/// The type of an expression's values, or of its elements. `all` has the functions it may call.
Type type_of(const Expr& e, const Routine& routine, const std::vector<Routine>& all);

/// `e` without conversions between kinds of integers.
Expr without_casts(const Expr& e);

/// The argument that says how long an axis, from 0, of an assumed shape is.
std::string extent_name(const std::string& array, int axis);

/// The argument that says with which subscript an axis of an allocatable array begins.
std::string lower_name(const std::string& array, int axis);

/// The name of the argument that says whether an optional one is there, and that argument, which
/// has another name where the routine around has this one.
std::string present_name(const std::string& argument);
const std::string& presence_of(const std::string& argument, const Routine& routine);

/// An argument that the source does not have.
bool is_ours(const Variable& v);

/// The argument that has the extent of an axis; empty where its shape is not assumed.
std::string extent_of(const Bounds& axis, const Routine& routine);

/// The arguments that a call of `routine` gives, in their order.
std::vector<const Variable*> dummies_of(const Routine& routine);
/// `arguments` of a call of `f` with one for each component of those that are not given.
Exprs by_components(const Routine& f, Exprs arguments);

/// What an outer variable, or an argument of ours about one, is, whatever name a routine gives it;
/// empty for others. It is no Fortran name.
std::string outer_key(const Variable& v);

/// The variable of `routine` that this is; null where it has none.
const Variable* find_outer(const Routine& routine, const std::string& key);

/// Whether a routine of another file may change an outer variable: all but the program's own
/// output may. MPI is known to change no others than arrays, such as buffers of messages on their
/// way.
bool may_change(const SubroutineCall& call, const Variable& outer);

/// The variable that a function gives.
const Variable& result_of(const Routine& function);

/// The routine of a name, or null.
const Routine* find_routine(const std::vector<Routine>& all, const std::string& name);

}  // namespace moonloop::fortran
