#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace moonloop {

/// The surroundings of generated text.
enum class Surroundings { C, OpenCL, Cuda, OpenCLHost, Ispc, Fortran };

/// The use of a name there. Each use takes the names of the previous ones too.
enum class NameUse {
  Member,  // the field of a record: keywords and macros are taken
  Local,   // a parameter or a variable: also the types and functions that generated code uses
  Global,  // a function, a type or a table: also names that headers declare and libraries define
};

/// Whether the language, its headers with their macros, its library or the functions in generated
/// code take `name`, so that it cannot be the kernel's there. This is the only table: all names of
/// kernels in generated text go through it.
bool is_reserved(Surroundings around, NameUse use, std::string_view name);

/// The words of the table, sorted; for its patterns (`INT32_MAX`, `floor_div_i32`, `float4`) some
/// examples.
std::vector<std::string> reserved_names(Surroundings around, NameUse use);

/// `name`, or where it is reserved, `name` with `_` appended. Different names stay different.
std::string unreserved(Surroundings around, NameUse use, const std::string& name);

}  // namespace moonloop
