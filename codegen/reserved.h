#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace moonloop {

/// What generated text stands in.
enum class Surroundings { C, OpenCL, Cuda, OpenCLHost, Fortran };

/// What a name is there. Each use takes what those before it take.
enum class NameUse {
  Member,  // the field of a record: keywords and macros are taken
  Local,   // a parameter or a variable: also the types and functions that generated code uses
  Global,  // a function, a type or a table: also what headers declare and libraries have
};

/// Whether the language, its headers with their macros, its library or the functions that generated
/// code brings along take `name`, so that it cannot be the kernel's there. This is the only table:
/// every name of a kernel that enters generated text asks it.
bool is_reserved(Surroundings around, NameUse use, std::string_view name);

/// The words of the table, sorted; of what it says by patterns (`INT32_MAX`, `floor_div_i32`,
/// `float4`) some examples.
std::vector<std::string> reserved_names(Surroundings around, NameUse use);

/// `name`, or where it is reserved, `name` with `_` behind. Different names stay different.
std::string unreserved(Surroundings around, NameUse use, const std::string& name);

}  // namespace moonloop
