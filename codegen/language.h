#pragma once
#include <string>

#include "codegen/codegen.h"
#include "codegen/reserved.h"

namespace moonloop {

/// How a language of the C family spells what all of them have.
enum class Language { C, OpenCL, Cuda };

Language language_of(Target t);
Surroundings surroundings_of(Language language);
bool is_device(Target t);  // work-items, launched from the host

/// `double`, `int32_t` (`int` on devices), `double complex`, `bool`, or the name of a record.
std::string type_name(Language language, const Type& t);
std::string field_name(Language language, const std::string& name);
/// The type of an element in memory that the host sees: bools are bytes there.
std::string element_type(Language language, const Type& t);
/// A function of C's mathematical library for one type: `sinf`, `sin`, `csin`; OpenCL has one name.
std::string math_function(Language language, const std::string& name, Scalar s);
/// A complex number of a device's language, which has pairs.
std::string complex_pair(Language language, Scalar s, const std::string& re, const std::string& im);
/// The work-item's number in its group, or the group's number, along an axis.
std::string hardware_id(Language language, bool group, int axis);
/// What stands before a table of constants, and before a function that other functions call.
std::string table_prefix(Language language);
std::string function_prefix(Language language);

}  // namespace moonloop
