#pragma once
#include <string>

#include "codegen/print/fortran_interface.h"

/// The names and types of an interface to Fortran.
namespace moonloop::fortran_side {

/// A program by the name that Fortran calls it.
struct Called : Program {
  std::string kernel;
  AroundRoutine around;
};

/// The kind of integers of this size, `c_int32_t`.
std::string integer_kind(const Type& t);
/// Fails `unsupported` for records and float16.
std::string fortran_type(const Called& p, const Parameter& a);
std::string lower_case(std::string s);

/// What the argument has the address of; null for others.
const FortranBox* box_of(const Called& p, const Parameter& a);
/// Whether it is a component, at entry, of what is in a box.
bool is_part_of_boxed(const Called& p, const Parameter& a);
/// Whether it says which of the caller's labels is next.
bool is_alternate(const Called& p, const Parameter& a);
/// Whether the routine sees the names of this module without `use`.
bool is_host(const Called& p, const std::string& module);
/// A variable of a module for which it needs one.
bool is_used(const Called& p, const Parameter& a);
/// A parameter that Fortran sees, each variable of a derived type by the first of its components.
bool is_first(const Called& p, const Parameter& a);

// The names of the interface: its module, and in it the lengths of axes and the C function.
std::string module_of(const Called& p);
std::string extent_name(const Called& p);
std::string function_in_c(const Called& p);

/// Of an argument, and of one of a derived type.
std::string name_of(const Called& p, const Parameter& a);
std::string name_of_whole(const Called& p, const std::string& name);
/// That of a variable of another module in the routine.
std::string imported_name(const Called& p, const Parameter& a);
/// The name of what the caller in Fortran passes: for a component, the variable that has it. An
/// What the routine calls a variable in a box: a function's result has a name of its own, which the
/// module may give it.
std::string name_outside(const Called& p, const FortranBox& b);
/// outer variable, by the name that it has in the routine.
std::string passed_name(const Called& p, const Parameter& a);
/// The parameter as the caller's variable, or the part of one.
std::string place_of(const Called& p, const Parameter& a);

/// Lines of Fortran, none of which is too long.
std::string wrapped(const std::string& text, const std::string& indent);

/// What lets one of the threads that call the routine do all of it, while the others wait, or one
/// after the other, where sections are critical: lines before and after its statements.
std::pair<std::string, std::string> by_one_thread(const Called& p);

/// The one of this name, which there is.
const Parameter& parameter(const Called& p, const std::string& name);

}  // namespace moonloop::fortran_side
